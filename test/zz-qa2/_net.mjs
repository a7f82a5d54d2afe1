// net.mjs
import http from "node:http";
import zlib from "node:zlib";

// ../../src/adapter/engine-handle.ts
var engineBrand = /* @__PURE__ */ Symbol.for("allm-ts.engine");

// ../../src/async/as-error.ts
function asError(thrown) {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
}

// ../../src/async/clock.ts
var systemClock = {
  now: () => Date.now(),
  sleep: (ms, signal2) => new Promise((resolve, reject) => {
    if (signal2?.aborted === true) {
      reject(reasonOf(signal2));
      return;
    }
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal2 === void 0 ? new Error("aborted") : reasonOf(signal2));
    };
    const timer = setTimeout(() => {
      signal2?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal2?.addEventListener("abort", onAbort, { once: true });
  }),
  timer: (ms, onTime) => {
    const timer = setTimeout(onTime, ms);
    return () => clearTimeout(timer);
  }
};
function startTimer(clock, ms, onTime) {
  if (clock.timer !== void 0) return clock.timer(ms, onTime);
  const controller = new AbortController();
  clock.sleep(ms, controller.signal).then(onTime, () => void 0);
  return () => controller.abort();
}
function reasonOf(signal2) {
  return asError(signal2.reason);
}

// ../../src/async/new-id.ts
var randomId = () => crypto.randomUUID().replaceAll("-", "");

// ../../src/data/defined.ts
function defined(fields) {
  const result = {};
  for (const key in fields) {
    const value = fields[key];
    if (value !== void 0) result[key] = value;
  }
  return result;
}

// ../../src/errors/redact.ts
var keyShapes = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_*.-]{6,}[A-Za-z0-9*]/g,
  /\b(?:gsk|xai|hf|nvapi|r8|csk)[-_][A-Za-z0-9_*-]{8,}/g,
  /\bAIza[A-Za-z0-9_*-]{10,}/g,
  /\bAQ\.[A-Za-z0-9_*-]{16,}/g,
  /\bya29\.[A-Za-z0-9_*.-]{10,}/g,
  /\beyJ[\w-]{10,512}\.[\w-]{10,2048}\.[\w-]+/g,
  /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/*=-]{8,}/gi,
  /\b((?:x-)?(?:goog-)?api[-_]?key["']?\s*[:=]\s*["']?)[A-Za-z0-9._*~+/-]{8,}/gi,
  /([?&](?:key|api_key|access_token)=)[^&\s"']+/gi,
  /\b(api[ _-]?key[a-z ]{0,16}: *)[^\s,;"'[]{6,}/gi,
  /[\w-]{2,64}\*{3,}[\w-]*|\*{3,}[\w-]{2,}/g
];
function redact(text3) {
  let result = text3;
  for (const shape2 of keyShapes) {
    result = result.replace(
      shape2,
      (_match, lead) => typeof lead === "string" ? `${lead}${/^(?:bearer|basic)$/i.test(lead) ? " " : ""}[redacted]` : "[redacted]"
    );
  }
  return result;
}
var keyNames = /^(?:(?:proxy-)?authorization|(?:x-)?(?:goog-)?api[-_]?key|access[-_]?token|(?:client[-_]?)?secret|password|(?:set-)?cookie)$/i;
function redactJson(value) {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => redactJson(item));
  return redactObject(value);
}
function redactObject(value) {
  return Object.fromEntries(
    Object.entries(value).map(([key, member2]) => [
      key,
      keyNames.test(key) && typeof member2 === "string" ? "[redacted]" : redactJson(member2)
    ])
  );
}

// ../../src/errors/to-json-value.ts
function toJsonValue(value, depth = 0, above = []) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
    case "symbol":
    case "undefined":
      return String(value);
    case "function":
      return `[function ${value.name}]`;
    case "object":
      return value === null ? null : objectToJson(value, depth, above);
  }
}
function objectToJson(value, depth, above) {
  if (above.includes(value)) return "[cycle]";
  if (depth > 8) return "[too deep]";
  const path = [...above, value];
  try {
    if (value instanceof Error) return errorFacts(value, depth, path);
    if (Array.isArray(value)) return value.map((item) => toJsonValue(item, depth + 1, path));
    if (value instanceof Date)
      return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof Map || value instanceof Set)
      return toJsonValue([...value], depth + 1, path);
    const members2 = Object.entries(value).filter(([, member2]) => member2 !== void 0);
    return Object.fromEntries(
      members2.map(([key, member2]) => [key, toJsonValue(member2, depth + 1, path)])
    );
  } catch {
    return "[unreadable]";
  }
}
function errorFacts(error, depth, path) {
  const facts2 = { name: error.name, message: error.message };
  if ("code" in error && typeof error.code === "string") facts2["code"] = error.code;
  if (error.cause !== void 0) facts2["cause"] = toJsonValue(error.cause, depth + 1, path);
  return facts2;
}

// ../../src/errors/allm-error.ts
var brand = /* @__PURE__ */ Symbol.for("allm-ts.error");
var AllmError = class extends Error {
  metadata;
  requestId;
  /** What had been received when the call failed. Set on errors that reject `generate`, `step` and `chat`. */
  partial;
  constructor(message3, details = {}) {
    super(redact(message3), details.cause === void 0 ? {} : { cause: details.cause });
    this.metadata = redactObject(toJsonValue(details.metadata ?? {}));
    this.requestId = details.requestId;
    this.partial = details.partial;
    Object.defineProperty(this, brand, { value: true });
  }
  /** The error as plain data; `errorFromJSON` gives it back. The cause is described, never copied. */
  toJSON() {
    return defined({
      kind: this.kind,
      reason: this.reason,
      message: this.message,
      metadata: Object.keys(this.metadata).length === 0 ? void 0 : this.metadata,
      cause: this.cause === void 0 ? void 0 : redactJson(toJsonValue(this.cause)),
      requestId: this.requestId,
      partial: this.partial,
      ...this.facts()
    });
  }
  /** The fields that this kind of error adds to its JSON. */
  facts() {
    return {};
  }
};
function isAllmError(value) {
  return typeof value === "object" && value !== null && brand in value;
}

// ../../src/errors/validation-error.ts
var validationErrorReasons = [
  "invalid_request",
  "invalid_message",
  "invalid_thread",
  "invalid_tool",
  "invalid_session",
  "invalid_image",
  "invalid_image_request",
  "invalid_options",
  "invalid_script",
  "invalid_output"
];
var ValidationError = class extends AllmError {
  name = "ValidationError";
  kind = "validation";
  reason;
  issues;
  constructor(reason, issues, details = {}) {
    super(`${reason.replaceAll("_", " ")}: ${issues.map(sentence).join("; ")}`, details);
    this.reason = reason;
    this.issues = issues.map(({ path, problem }) => ({ path, problem: redact(problem) }));
  }
  facts() {
    return { issues: this.issues };
  }
};
function sentence({ path, problem }) {
  return path === "" ? problem : `${path} ${problem}`;
}

// ../../src/validate/assert-valid.ts
function assertValid(reason, issues) {
  if (issues.length > 0) throw new ValidationError(reason, issues);
}

// ../../src/validate/describe.ts
function describe(value) {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 48 ? `${value.slice(0, 48)}\u2026` : value);
  }
  if (typeof value === "object" && value !== null) return describeObject(value);
  const word = typeof value;
  return word === "function" || word === "symbol" || word === "bigint" ? `a ${word}` : String(value);
}
function describeObject(value) {
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return "an object";
  const { name: name2 } = value.constructor;
  return name2 === "" ? "a class instance" : `${/^[AEIO]/.test(name2) ? "an" : "a"} ${name2}`;
}

// ../../src/validate/check.ts
var fine = Object.freeze([]);
function must(wording, test) {
  return (value) => test(value) ? fine : refuse(wording, value);
}
var anyFunction = must("a function", (value) => typeof value === "function");
function refuse(wording, value) {
  return [{ path: "", problem: `must be ${wording}, not ${describe(value)}` }];
}
function within(key, issues) {
  if (issues.length === 0) return fine;
  const name2 = typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key);
  const place = name2 ? key : `[${JSON.stringify(key)}]`;
  return issues.map(({ path, problem }) => ({
    path: path === "" || path.startsWith("[") ? place + path : `${place}.${path}`,
    problem
  }));
}
function join(left, right) {
  if (right.length === 0) return left;
  return left.length === 0 ? right : [...left, ...right];
}
function remembered(check) {
  const passed = /* @__PURE__ */ new WeakSet();
  return (value) => {
    if (typeof value !== "object" || value === null) return check(value);
    if (passed.has(value)) return fine;
    const issues = check(value);
    if (issues.length === 0) passed.add(value);
    return issues;
  };
}

// ../../src/data/standard-schema.ts
function isStandardSchema(value) {
  return (typeof value === "object" && value !== null || typeof value === "function") && "~standard" in value;
}

// ../../src/validate/is-plain-object.ts
function isPlainObject(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

// ../../src/validate/json-value.ts
var json = (value) => jsonIssues(value, []);
var jsonObject = (value) => isPlainObject(value) ? jsonIssues(value, []) : refuse("a JSON object", value);
function jsonIssues(value, above) {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return fine;
  if (typeof value === "number" && Number.isFinite(value)) return fine;
  const list = Array.isArray(value);
  if (!list && !isPlainObject(value)) {
    return [{ path: "", problem: `must be a JSON value, not ${describe(value)}` }];
  }
  if (above.includes(value)) {
    return [{ path: "", problem: "must be a JSON value, not a cycle: it holds itself" }];
  }
  const path = [...above, value];
  let issues = fine;
  if (list) {
    for (let index = 0; index < value.length; index++) {
      issues = join(issues, within(index, jsonIssues(value[index], path)));
    }
  } else {
    for (const key in value) issues = join(issues, within(key, jsonIssues(value[key], path)));
  }
  return issues;
}

// ../../src/validate/unknown-keys.ts
function unknownKeys(value, legalKeys2, path = "") {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).filter((key) => !legalKeys2.includes(key)).map((key) => unknownKey(key, legalKeys2, path));
}
function unknownKey(key, legalKeys2, path = "") {
  const near = nearest(key, legalKeys2);
  const advice2 = near === void 0 ? `legal are ${legalKeys2.join(", ")}` : `did you mean ${near}?`;
  return { path, problem: `unknown key ${key}; ${advice2}` };
}
function nearest(word, words2) {
  const wanted = bare(word);
  const limit = Math.floor(Math.min(wanted.length / 2, Math.max(2, wanted.length / 3)));
  let best;
  let least = limit + 1;
  for (const candidate of words2) {
    const distance = editDistance(wanted, bare(candidate));
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}
function bare(word) {
  return word.toLowerCase().replaceAll(/[_-]/g, "").slice(0, 64);
}
function editDistance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next2 = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next2.push(Math.min(change, (row[j] ?? 0) + 1, (next2[j - 1] ?? 0) + 1));
    }
    row = next2;
  }
  return row[to.length] ?? 0;
}

// ../../src/validate/shape.ts
function shape(required, optional2 = {}) {
  const requiredKeys = Object.keys(required);
  const looksRight = members({ ...required, ...optional2 }, () => [
    { path: "", problem: "must be absent or have a value, not undefined" }
  ]);
  return (value) => {
    let issues = looksRight(value);
    if (!isPlainObject(value)) return issues;
    for (const key of requiredKeys) {
      if (!(key in value)) issues = join(issues, [{ path: key, problem: "is missing" }]);
    }
    return issues;
  };
}
function optionsOf(optional2) {
  return members(optional2, () => fine);
}
function members(table, onUndefined) {
  const checks = new Map(Object.entries(table));
  return (value) => {
    if (!isPlainObject(value)) return refuse("an object", value);
    let issues = fine;
    for (const key in value) {
      const member2 = value[key];
      const check = checks.get(key);
      if (check === void 0) issues = join(issues, [unknownKey(key, [...checks.keys()])]);
      else issues = join(issues, within(key, (member2 === void 0 ? onUndefined : check)(member2)));
    }
    return issues;
  };
}
function listOf(item) {
  return (value) => {
    if (!Array.isArray(value)) return refuse("a list", value);
    let issues = fine;
    for (let index = 0; index < value.length; index++) {
      issues = join(issues, within(index, item(value[index])));
    }
    return issues;
  };
}
function recordOf(member2) {
  return (value) => {
    if (!isPlainObject(value)) return refuse("an object", value);
    let issues = fine;
    for (const key in value) issues = join(issues, within(key, member2(value[key])));
    return issues;
  };
}
function tagged(shapes) {
  return (value) => {
    if (!isPlainObject(value)) return refuse("an object", value);
    const { type } = value;
    const check = typeof type === "string" && Object.hasOwn(shapes, type) ? shapes[type] : void 0;
    return check?.(value) ?? wrongTag(type, Object.keys(shapes));
  };
}
function wrongTag(type, tags) {
  return within("type", refuse(`one of ${tags.join(", ")}`, type));
}
var tag = () => fine;

// ../../src/validate/values.ts
var text = must("a string", (value) => typeof value === "string");
var someText = must(
  "a string that is not empty",
  (value) => typeof value === "string" && value !== ""
);
var flag = must("true or false", (value) => typeof value === "boolean");
var integer = must(
  "an integer of at least 0",
  (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0
);
var count = must(
  "a positive integer",
  (value) => typeof value === "number" && Number.isSafeInteger(value) && value > 0
);
function oneOf(words2) {
  return must(
    `one of ${words2.join(", ")}`,
    (value) => typeof value === "string" && words2.includes(value)
  );
}
function between(least, most) {
  return must(
    `a number from ${least} to ${most}`,
    (value) => typeof value === "number" && value >= least && value <= most
  );
}
var timeoutMs = must(
  "a positive number of milliseconds, at most 2147483647",
  (value) => typeof value === "number" && value > 0 && value <= 2147483647
);

// ../../src/validate/request-fields.ts
var efforts = ["none", "minimal", "low", "medium", "high", "max"];
var responseFormat = tagged({
  text: shape({ type: tag }),
  json_object: shape({ type: tag }),
  json_schema: shape({ type: tag, name: someText, schema: jsonObject, strict: flag })
});
var cacheOptions = shape({}, { key: someText, retention: oneOf(["short", "long"]) });
var promptCache = (value) => {
  if (value === true) return fine;
  return typeof value === "object" ? cacheOptions(value) : refuse("true or an object with key and retention", value);
};
var requestFields = {
  model: someText,
  toolChoice: someText,
  temperature: between(0, 2),
  maxTokens: count,
  reasoning: shape({ effort: oneOf(efforts) }, { summary: flag }),
  promptCache,
  providerOptions: recordOf(jsonObject),
  metadata: jsonObject
};

// ../../src/errors/adapter-error.ts
var adapterErrorReasons = [
  "authentication_failed",
  "rate_limited",
  "invalid_request",
  "content_filter",
  "context_length_exceeded",
  "provider_unavailable",
  "timeout",
  "network_error",
  "malformed_response",
  "unsupported_feature",
  "no_scripted_response",
  "unknown"
];
var transientReasons = /* @__PURE__ */ new Set([
  "rate_limited",
  "provider_unavailable",
  "timeout",
  "network_error"
]);
var AdapterError = class extends AllmError {
  name = "AdapterError";
  kind = "adapter";
  reason;
  provider;
  status;
  retryAfterMs;
  retryable;
  constructor(reason, message3, details = {}) {
    super(message3, details);
    this.reason = reason;
    this.provider = details.provider;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.retryable = details.retryable ?? transientReasons.has(reason);
  }
  facts() {
    return adapterFacts(this);
  }
};
function adapterFacts(error) {
  const { provider, status, retryAfterMs: retryAfterMs2, retryable } = error;
  return {
    ...provider === void 0 ? {} : { provider },
    ...status === void 0 ? {} : { status },
    ...retryAfterMs2 === void 0 ? {} : { retryAfterMs: retryAfterMs2 },
    retryable
  };
}

// ../../src/errors/image-adapter-error.ts
var imageAdapterErrorReasons = [
  ...adapterErrorReasons.filter((reason) => reason !== "no_scripted_response"),
  "unsupported_operation"
];
var ImageAdapterError = class extends AllmError {
  name = "ImageAdapterError";
  kind = "image_adapter";
  reason;
  provider;
  status;
  retryAfterMs;
  retryable;
  constructor(reason, message3, details = {}) {
    super(message3, details);
    this.reason = reason;
    this.provider = details.provider;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.retryable = details.retryable ?? transientReasons.has(reason);
  }
  facts() {
    return adapterFacts(this);
  }
};

// ../../src/validate/retry-option.ts
var delayMs = between(0, 2147483647);
var policy = optionsOf({
  maxAttempts: count,
  baseDelayMs: delayMs,
  maxDelayMs: delayMs,
  jitterMs: delayMs,
  retryOn: listOf(oneOf([.../* @__PURE__ */ new Set([...adapterErrorReasons, ...imageAdapterErrorReasons])])),
  respectRetryAfter: flag
});
var retryOption = (value) => {
  if (value === "default" || value === false) return fine;
  return typeof value === "object" && value !== null ? policy(value) : refuse('"default", false or a policy', value);
};

// ../../src/validate/validate-tool.ts
var toolChoiceWords = ["auto", "none", "required"];
var name = (value) => {
  if (typeof value !== "string" || !/^[\w-]{1,64}$/.test(value)) {
    return refuse("1 to 64 letters, digits, _ or -", value);
  }
  return toolChoiceWords.includes(value) ? [{ path: "", problem: `must not be ${value}: it is a word of toolChoice` }] : fine;
};
var spec = { name, description: text, schema: remembered(jsonObject) };
var toolSpec = shape(spec, { strict: flag });
var tool = shape(spec, {
  strict: flag,
  input: must("a Standard Schema", isStandardSchema),
  handler: anyFunction,
  manual: flag,
  compact: flag,
  summary: text,
  timeoutMs,
  idempotent: flag
});
function validateTool(value) {
  return tool(value);
}
function repeatedNames(tools3) {
  if (!Array.isArray(tools3) || tools3.length < 2) return fine;
  const seen = /* @__PURE__ */ new Set();
  let issues = fine;
  tools3.forEach((item, index) => {
    const toolName = isPlainObject(item) ? item["name"] : void 0;
    if (typeof toolName === "string" && seen.has(toolName)) {
      issues = join(issues, [
        { path: `[${index}].name`, problem: `is used twice among the tools: ${toolName}` }
      ]);
    }
    seen.add(toolName);
  });
  return issues;
}

// ../../src/validate/option-checks.ts
var listOfTools = listOf(remembered(validateTool));
var tools = (value) => join(listOfTools(value), repeatedNames(value));
var onToolError = must(
  '"continue", "halt" or a function of the call and the error',
  (value) => value === "continue" || value === "halt" || typeof value === "function" && value.length <= 2
);
var signal = must(
  "an AbortSignal",
  (value) => typeof value === "object" && value !== null && "aborted" in value
);
var callOptionChecks = {
  ...requestFields,
  tools,
  responseFormat: (value) => isStandardSchema(value) ? fine : responseFormat(value),
  structuredFinalize: flag,
  mode: oneOf(["auto", "manual"]),
  maxTurns: count,
  haltWhen: anyFunction,
  onToolError,
  toolTimeoutMs: timeoutMs,
  maxConcurrency: count,
  requestTimeoutMs: timeoutMs,
  streamTimeoutMs: timeoutMs,
  signal,
  retry: retryOption,
  context: jsonObject,
  emitTextDeltas: flag,
  emitToolDeltas: flag,
  includeRawChunks: flag,
  onEvent: anyFunction,
  requestId: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) => typeof value === "string" ? fine : [{ path: "", problem: "must be a string" }]
};

// ../../src/validate/call-options.ts
function validateCallOptions(value) {
  return value === void 0 ? fine : callOptions(value);
}
var callOptions = optionsOf(callOptionChecks);
function validateEngineOptions(value) {
  return value === void 0 ? fine : engineOptions(value);
}
function withMethods(wording, ...names) {
  return must(
    `${wording}, with ${names.join(" and ")}`,
    (value) => typeof value === "object" && value !== null && names.every((name2) => typeof Reflect.get(value, name2) === "function")
  );
}
var keys = (value) => {
  const legal = typeof value === "function" || typeof value === "object" && value !== null && Object.values(value).every((key) => typeof key === "string");
  return legal ? fine : [{ path: "", problem: "must be a function or an object of strings" }];
};
var { signal: _signal, requestId: _requestId, ...callDefaults } = callOptionChecks;
var engineOptions = optionsOf({
  ...callDefaults,
  apiKey: () => [
    { path: "", problem: "is not for engines, which hold no key; use keys: { provider: key }" }
  ],
  adapter: withMethods("a chat adapter", "stream"),
  imageAdapter: withMethods("an image adapter", "generate", "supportedOperations"),
  imageModel: someText,
  keys,
  clock: withMethods("a clock", "now", "sleep"),
  newId: anyFunction,
  toolExecutor: anyFunction,
  toolResultEncoder: anyFunction
});

// ../../src/errors/engine-error.ts
var engineErrorReasons = [
  "missing_adapter",
  "missing_model",
  "missing_key",
  "unknown_tool",
  "invalid_engine",
  "unsupported_response_format",
  "no_image_adapter"
];
var EngineError = class extends AllmError {
  name = "EngineError";
  kind = "engine";
  reason;
  provider;
  constructor(reason, message3, details = {}) {
    super(message3, details);
    this.reason = reason;
    this.provider = details.provider;
  }
  facts() {
    return this.provider === void 0 ? {} : { provider: this.provider };
  }
};

// ../../src/stream/parts-of.ts
function partsOf(engine) {
  if (isEngine(engine)) return engine;
  throw new EngineError(
    "invalid_engine",
    "the first argument is not an engine; make one with createEngine"
  );
}
function isEngine(value) {
  return typeof value === "object" && value !== null && engineBrand in value;
}

// ../../src/stream/run-scene.ts
var noOptions = {};
function runScene(engine, options, session) {
  const parts2 = partsOf(engine);
  assertValid("invalid_options", validateCallOptions(options));
  const call2 = options ?? noOptions;
  return {
    engine: parts2,
    call: call2,
    requestId: call2.requestId ?? parts2.newId("request"),
    sessionId: session?.sessionId,
    tools: call2.tools === void 0 ? parts2.tools : mergeByName(parts2.tools, call2.tools),
    context: mergeContext(parts2.context, session?.context, call2.context)
  };
}
function optionOf(scene, name2) {
  return scene.call[name2] ?? scene.engine.defaults[name2];
}
function mergeByName(first2, second) {
  if (second.length === 0) return first2;
  if (first2.length === 0) return second;
  const byName = new Map(first2.map((item) => [item.name, item]));
  for (const item of second) byName.set(item.name, item);
  return [...byName.values()];
}
function mergeContext(engine, session, call2) {
  return session === void 0 && call2 === void 0 ? engine : { ...engine, ...session, ...call2 };
}

// ../../src/engine/create-engine.ts
function createEngine(options = {}) {
  assertValid("invalid_options", validateEngineOptions(options));
  const {
    adapter,
    model: model2,
    tools: tools3,
    imageAdapter,
    imageModel,
    context,
    retry: retry2,
    keys: keys3,
    clock,
    newId,
    toolExecutor,
    toolResultEncoder,
    ...defaults
  } = options;
  const parts2 = {
    [engineBrand]: true,
    adapter,
    model: model2,
    tools: Object.freeze([...tools3 ?? []]),
    imageAdapter,
    imageModel,
    context: context ?? {},
    retry: retry2,
    keys: keySource(keys3),
    clock: clock ?? systemClock,
    newId: newId ?? randomId,
    toolExecutor,
    toolResultEncoder,
    defaults: Object.freeze(defaults)
  };
  return Object.freeze(parts2);
}
function keySource(keys3) {
  if (keys3 === void 0 || typeof keys3 === "function") return keys3;
  const copy = new Map(Object.entries(keys3));
  return (provider) => copy.get(provider);
}

// ../../src/stream/keep-event.ts
function keepEvent(scene) {
  const text3 = optionOf(scene, "emitTextDeltas") ?? true;
  const tools3 = optionOf(scene, "emitToolDeltas") ?? true;
  if (text3 && tools3) return void 0;
  const hidden = /* @__PURE__ */ new Set();
  if (!text3) hidden.add("text_delta").add("reasoning_delta");
  if (!tools3) hidden.add("tool_call_delta");
  return (event) => !hidden.has(event.type);
}

// ../../src/stream/output.ts
function outputSchema(format) {
  return isStandardSchema(format) ? format : void 0;
}

// ../../src/errors/stream-error.ts
var streamErrorReasons = [
  "cancelled",
  "timeout",
  "malformed_event",
  "truncated",
  "adapter_error",
  "unknown"
];
var StreamError = class extends AllmError {
  name = "StreamError";
  kind = "stream";
  reason;
  provider;
  eventIndex;
  constructor(reason, message3, details = {}) {
    super(message3, details);
    this.reason = reason;
    this.provider = details.provider;
    this.eventIndex = details.eventIndex;
  }
  facts() {
    return {
      ...this.provider === void 0 ? {} : { provider: this.provider },
      ...this.eventIndex === void 0 ? {} : { eventIndex: this.eventIndex }
    };
  }
};

// ../../src/data/assert-never.ts
function assertNever(value) {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}

// ../../src/errors/session-error.ts
var sessionErrorReasons = [
  "illegal_status",
  "unknown_tool_call_id",
  "session_in_error_state",
  "unreadable",
  "stale"
];
var SessionError = class extends AllmError {
  name = "SessionError";
  kind = "session";
  reason;
  constructor(reason, message3, details = {}) {
    super(message3, details);
    this.reason = reason;
  }
};

// ../../src/errors/tool-error.ts
var toolErrorReasons = [
  "handler_raised",
  "handler_failed",
  "timeout",
  "invalid_return",
  "invalid_arguments",
  "not_found",
  "encoding_failed"
];
var ToolError = class extends AllmError {
  name = "ToolError";
  kind = "tool";
  reason;
  toolName;
  toolCallId;
  constructor(reason, message3, details = {}) {
    super(message3, details);
    this.reason = reason;
    this.toolName = details.toolName;
    this.toolCallId = details.toolCallId;
  }
  facts() {
    return {
      ...this.toolName === void 0 ? {} : { toolName: this.toolName },
      ...this.toolCallId === void 0 ? {} : { toolCallId: this.toolCallId }
    };
  }
};

// ../../src/errors/error-json.ts
function errorToJSON(error) {
  if (isAllmError(error)) return error.toJSON();
  return new StreamError("unknown", thrownText(error), { cause: error }).toJSON();
}
function thrownText(error) {
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : "something that is not an error was thrown";
}
function errorFromJSON(data) {
  const { message: message3 } = data;
  const details = { ...data, partial: data.partial };
  switch (data.kind) {
    case "adapter":
      return new AdapterError(oneOf2(adapterErrorReasons, data.reason, "unknown"), message3, details);
    case "image_adapter":
      return new ImageAdapterError(
        oneOf2(imageAdapterErrorReasons, data.reason, "unknown"),
        message3,
        details
      );
    case "stream":
      return new StreamError(oneOf2(streamErrorReasons, data.reason, "unknown"), message3, details);
    case "tool":
      return new ToolError(oneOf2(toolErrorReasons, data.reason, "handler_raised"), message3, details);
    case "engine":
      return new EngineError(
        oneOf2(engineErrorReasons, data.reason, "invalid_engine"),
        message3,
        details
      );
    case "session":
      return new SessionError(
        oneOf2(sessionErrorReasons, data.reason, "unreadable"),
        message3,
        details
      );
    case "validation":
      return new ValidationError(
        oneOf2(validationErrorReasons, data.reason, "invalid_request"),
        data.issues ?? [{ path: "", problem: message3 }],
        details
      );
    default:
      return assertNever(data.kind);
  }
}
function oneOf2(known2, word, fallback) {
  return known2.find((candidate) => candidate === word) ?? fallback;
}

// ../../src/stream/web-stream.ts
function eventStream(events) {
  return new ReadableStream(
    {
      async pull(controller) {
        const result = await events.next();
        if (result.done === true) controller.close();
        else controller.enqueue(result.value);
      },
      async cancel() {
        await events.return?.();
      }
    },
    { highWaterMark: 0 }
  );
}
function eventResponse(events, init = {}) {
  const encoder = new TextEncoder();
  const body = new ReadableStream(
    {
      async pull(controller) {
        const result = await events.next().catch((error) => ({ done: false, value: failed(error) }));
        if (result.done === true) {
          controller.close();
          return;
        }
        const { value: event } = result;
        controller.enqueue(
          encoder.encode(`event: ${event.type}
data: ${JSON.stringify(event)}

`)
        );
      },
      async cancel() {
        await events.return?.();
      }
    },
    { highWaterMark: 0 }
  );
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", "text/event-stream; charset=utf-8");
  if (!headers.has("cache-control")) headers.set("cache-control", "no-cache");
  return new Response(body, { ...init, headers });
}
function failed(error) {
  const { partial: _received, ...data } = errorToJSON(error);
  return { type: "error", error: data };
}

// ../../src/stream/run-stream.ts
var over = { done: true, value: void 0 };
function runStream(source, options = {}) {
  let taken = false;
  const take2 = () => {
    if (taken) {
      throw new StreamError(
        "unknown",
        "this stream has a consumer already; it can be read once. Keep the events, or start another run"
      );
    }
    taken = true;
    return source;
  };
  const leave2 = async () => {
    taken = true;
    await source.return();
  };
  return {
    [Symbol.asyncIterator]: () => eventIterator(take2(), options),
    batches: () => ({ [Symbol.asyncIterator]: () => batchIterator(take2(), options) }),
    return: leave2,
    [Symbol.asyncDispose]: leave2,
    toReadableStream: () => eventStream(eventIterator(take2(), options)),
    toResponse: (init) => eventResponse(eventIterator(take2(), options), init)
  };
}
function eventIterator(source, door) {
  const { keep, onPass } = door;
  let batch = [];
  let at = 0;
  let pending;
  const fromBatch = () => {
    while (at < batch.length) {
      const value = batch[at++];
      if (value === void 0) continue;
      onPass?.(value);
      if (keep === void 0 || keep(value)) return { done: false, value };
    }
    return void 0;
  };
  const refill = (result) => {
    pending = void 0;
    if (result.done === true) return over;
    batch = result.value;
    at = 0;
    return fromBatch() ?? pull2();
  };
  const lost = (error) => {
    pending = void 0;
    throw error;
  };
  const pull2 = () => {
    pending = source.next().then(refill, lost);
    return pending;
  };
  const next2 = () => {
    if (pending !== void 0) return pending.then(next2, next2);
    const step = fromBatch();
    return step === void 0 ? pull2() : Promise.resolve(step);
  };
  return {
    next: next2,
    return: async () => {
      batch = [];
      await source.return();
      return over;
    }
  };
}
function batchIterator(source, door) {
  const { keep, onPass } = door;
  const pass = (batch) => {
    if (onPass !== void 0) batch.forEach((event) => onPass(event));
    return keep === void 0 ? batch : batch.filter((event) => keep(event));
  };
  const next2 = async () => {
    for (; ; ) {
      const result = await source.next();
      if (result.done === true) return result;
      const value = pass(result.value);
      if (value.length > 0) return { done: false, value };
    }
  };
  return {
    next: keep === void 0 && onPass === void 0 ? () => source.next() : next2,
    return: async () => {
      await source.return();
      return over;
    }
  };
}

// ../../src/telemetry/telemetry.ts
var subscriptions = /* @__PURE__ */ new Set();
function emitTelemetry(event) {
  for (const { listener, content: content2 } of subscriptions) {
    if (content2 || !("content" in event)) listener(event);
    else {
      const { content: _hidden, ...rest } = event;
      listener(rest);
    }
  }
}
function isObserved() {
  return subscriptions.size > 0;
}
var unobserved = { stop: () => void 0, error: () => void 0 };
function span(name2, facts2, clock) {
  if (subscriptions.size === 0) return unobserved;
  const start4 = clock.now();
  emitTelemetry({ name: name2, phase: "start", at: start4, ...facts2 });
  const times = () => {
    const at = clock.now();
    return { at, durationMs: at - start4 };
  };
  return {
    stop: (outcome) => emitTelemetry({ name: name2, phase: "stop", ...times(), ...facts2, ...outcome }),
    error: (error) => emitTelemetry({ name: name2, phase: "error", ...times(), ...facts2, error: withoutPartial(error) })
  };
}
function withoutPartial(error) {
  const { partial: _content, ...data } = isErrorData(error) ? error : errorToJSON(error);
  return data;
}
function isErrorData(error) {
  return typeof error === "object" && error !== null && !(error instanceof Error) && "kind" in error;
}

// ../../src/collect/failure.ts
function failureOf(error, partial) {
  const failure = errorFromJSON(error);
  failure.partial = partial;
  return failure;
}

// ../../src/data/message.ts
function messageText(message3) {
  const { content: content2 } = message3;
  if (typeof content2 === "string") return content2;
  let text3 = "";
  for (const part2 of content2) if (part2.type === "text") text3 += part2.text;
  return text3;
}

// ../../src/events/assistant-message.ts
function assistantMessage(parts2, toolCalls) {
  const content2 = parts2.every((part2) => part2.type === "text") ? parts2.map((part2) => part2.text).join("") : parts2;
  return toolCalls.length === 0 ? { role: "assistant", content: content2 } : { role: "assistant", content: content2, toolCalls };
}

// ../../src/collect/blocks.ts
function clearBlocks(blocks) {
  blocks.parked = none;
  blocks.openKind = void 0;
  blocks.openIndex = void 0;
  blocks.openText = "";
  blocks.openAt = -1;
}
var none = [];
function growBlock(blocks, kind, index, delta) {
  if (blocks.openKind !== kind || blocks.openIndex !== index) openBlock(blocks, kind, index);
  blocks.openText += delta;
}
function closeBlock(blocks, kind, index, whole) {
  if (blocks.openKind !== kind || blocks.openIndex !== index) openBlock(blocks, kind, index);
  blocks.openText = whole.text;
  park(blocks, { closed: true, opaque: whole.opaque });
}
function addImage(blocks, image2) {
  park(blocks, { closed: false });
  const block = { kind: "image", index: void 0, text: "", closed: true, image: image2 };
  blocks.parked = [...blocks.parked, block];
}
function toParts(blocks, provider) {
  const all = { ...blocks };
  park(all, { closed: false });
  const parts2 = [];
  for (const { kind, text: text3, opaque, image: image2 } of all.parked) {
    if (image2 !== void 0) parts2.push({ type: "image", image: image2 });
    else if (kind === "text" && text3 !== "") parts2.push({ type: "text", text: text3 });
    else if (kind === "reasoning" && (text3 !== "" || opaque !== void 0)) {
      parts2.push(defined({ type: "reasoning", text: text3, opaque, provider }));
    }
  }
  return parts2;
}
function openBlock(blocks, kind, index) {
  park(blocks, { closed: false });
  const known2 = blocks.parked.findLastIndex(
    (block) => !block.closed && block.kind === kind && block.index === index
  );
  blocks.openKind = kind;
  blocks.openIndex = index;
  if (known2 === -1) {
    blocks.openAt = blocks.parked.length;
    blocks.openText = "";
    blocks.parked = [...blocks.parked, { kind, index, text: "", closed: false }];
  } else {
    blocks.openAt = known2;
    blocks.openText = blocks.parked[known2]?.text ?? "";
  }
}
function park(blocks, end2) {
  const { openKind: kind, openIndex: index, openText: text3, openAt } = blocks;
  if (kind === void 0) return;
  const { closed: closed2, opaque } = end2;
  blocks.parked = blocks.parked.with(openAt, { kind, index, text: text3, closed: closed2, opaque });
  blocks.openKind = void 0;
  blocks.openText = "";
  blocks.openAt = -1;
}

// ../../src/collect/to-response.ts
function toResponse(state) {
  const last = state.steps.at(-1);
  if (!state.active && last !== void 0 && state.error === void 0) return last.response;
  const { end: end2, error } = state;
  const message3 = currentMessage(state);
  return defined({
    requestId: state.requestId,
    id: state.id,
    model: state.model,
    provider: state.provider,
    message: message3,
    outputText: messageText(message3),
    toolCalls: message3.toolCalls ?? [],
    finishReason: error !== void 0 ? "error" : end2?.finishReason ?? "other",
    rawFinishReason: end2?.rawFinishReason,
    usage: state.usage,
    error,
    metadata: end2?.metadata ?? {}
  });
}
function currentMessage(state) {
  const { end: end2 } = state;
  if (end2 === void 0) {
    const message3 = assistantMessage(toParts(state, state.provider), state.calls.map(toCall));
    return { ...message3, metadata: { partial: true } };
  }
  const said2 = end2.message.content.length > 0 || end2.message.toolCalls !== void 0;
  return said2 ? end2.message : assistantMessage(toParts(state, state.provider), state.calls.map(toCall));
}
function toCall({ id, name: name2, raw, call: call2 }) {
  return call2 ?? { id, name: name2, arguments: {}, rawArguments: raw };
}

// ../../src/data/model-request.ts
var requestKeys = [
  "model",
  "messages",
  "tools",
  "toolChoice",
  "temperature",
  "maxTokens",
  "responseFormat",
  "reasoning",
  "promptCache",
  "providerOptions",
  "metadata"
];

// ../../src/make/refusal.ts
function refusal(reason, path, problem, cause) {
  return new ValidationError(reason, [{ path, problem }], { cause });
}
function assertOptions(reason, options, legalKeys2) {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw refusal(reason, "", `options must be an object, not ${describe(options)}`);
  }
  assertValid(reason, unknownKeys(options, legalKeys2));
}

// ../../src/make/derive-schema.ts
function toJsonSchema(schema, reason) {
  if (!isStandardSchema(schema)) return schema;
  const { vendor, jsonSchema: jsonSchema2 } = schema["~standard"];
  if (jsonSchema2 === void 0) throw refusal(reason, "schema", advice(vendor));
  let derived;
  try {
    derived = jsonSchema2.input({ target: "draft-2020-12" });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw refusal(reason, "schema", `of ${vendor} has no JSON Schema: ${why}`, cause);
  }
  const { $schema: _dialect, ...rest } = derived;
  return rest;
}
function advice(vendor) {
  const way = vendor === "valibot" ? "wrap it with toStandardJsonSchema of @valibot/to-json-schema" : "use a version of the library that carries ~standard.jsonSchema, or give plain JSON Schema";
  return `of ${vendor} can not say its JSON Schema; ${way}`;
}

// ../../src/make/response-format.ts
function jsonSchema(name2, schema, options = {}) {
  assertOptions("invalid_request", options, ["strict"]);
  if (typeof name2 !== "string" || !/^[\w-]{1,64}$/.test(name2)) {
    throw refusal("invalid_request", "name", "must be 1 to 64 letters, digits, _ or -");
  }
  const { strict = true } = options;
  const made = {
    type: "json_schema",
    name: name2,
    schema: toJsonSchema(schema, "invalid_request"),
    strict
  };
  assertValid("invalid_request", responseFormat(made));
  return made;
}
function toResponseFormat(format) {
  return isStandardSchema(format) ? jsonSchema("output", format) : format;
}

// ../../src/make/tool.ts
function toToolSpec(from) {
  const { name: name2, description, schema, strict } = from;
  return strict === void 0 ? { name: name2, description, schema } : { name: name2, description, schema, strict };
}

// ../../src/stream/build-request.ts
function buildRequest(scene, draft, turn) {
  const { call: call2, engine } = scene;
  const { defaults } = engine;
  const format = turn === void 0 ? call2.responseFormat ?? draft.responseFormat ?? defaults.responseFormat : turn.responseFormat;
  const choice = turn === void 0 ? call2.toolChoice ?? draft.toolChoice ?? defaults.toolChoice : turn.toolChoice;
  return defined({
    model: call2.model ?? draft.model ?? engine.model,
    messages: draft.messages,
    tools: turn?.tools ?? mergeTools(scene, draft.tools),
    toolChoice: choice,
    temperature: call2.temperature ?? draft.temperature ?? defaults.temperature,
    maxTokens: call2.maxTokens ?? draft.maxTokens ?? defaults.maxTokens,
    responseFormat: format === void 0 ? void 0 : toResponseFormat(format),
    reasoning: call2.reasoning ?? draft.reasoning ?? defaults.reasoning,
    promptCache: call2.promptCache ?? draft.promptCache ?? defaults.promptCache,
    providerOptions: mergeProviderOptions(
      defaults.providerOptions,
      draft.providerOptions,
      call2.providerOptions
    ),
    metadata: mergeMetadata(defaults.metadata, draft.metadata, call2.metadata)
  });
}
function mergeTools({ engine, call: call2 }, requested) {
  const own = mergeByName(engine.tools.map(toToolSpec), requested ?? []);
  return call2.tools === void 0 ? own : mergeByName(own, call2.tools.map(toToolSpec));
}
var none2 = {};
function mergeProviderOptions(...layers) {
  const given = layers.filter((layer) => layer !== void 0);
  if (given.length < 2) return given[0] ?? none2;
  const merged2 = {};
  for (const layer of given) {
    for (const [provider, options] of Object.entries(layer)) {
      merged2[provider] = { ...merged2[provider], ...options };
    }
  }
  return merged2;
}
var nothing = {};
function mergeMetadata(...layers) {
  const given = layers.filter((layer) => layer !== void 0);
  if (given.length < 2) return given[0] ?? nothing;
  const merged2 = {};
  for (const layer of given) Object.assign(merged2, layer);
  return merged2;
}

// ../../src/keys/key-store.ts
var keys2 = /* @__PURE__ */ new Map();
function storedKey(provider) {
  return keys2.get(provider);
}

// ../../src/keys/find-key.ts
function findKey(provider, places = {}) {
  const given = givenKey(provider, places);
  if (given !== void 0) return given;
  const stored = storedKey(provider);
  if (stored !== void 0) return { key: stored, source: "process" };
  for (const variable of keyVariables(provider)) {
    const key = fromEnvironment(variable);
    if (isKey(key)) return { key, source: "environment", variable };
  }
  return void 0;
}
function resolveKey(provider, places = {}) {
  const found = findKey(provider, places);
  if (found !== void 0) return found.key;
  const variables = keyVariables(provider).join(" or ");
  throw new EngineError(
    "missing_key",
    `no key for ${provider}: looked at the call's apiKey, the engine's keys, setKey('${provider}', \u2026) and the environment (${variables})`,
    { provider, metadata: { checked: ["call", "engine", "process", "environment"] } }
  );
}
function keyFor(adapter, places) {
  const { provider, key: need } = adapter;
  if (need === void 0) return void 0;
  if (need.own) return givenKey(provider, places)?.key;
  return need.required ? resolveKey(provider, places) : findKey(provider, places)?.key;
}
function keyVariables(provider) {
  const own = `${provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_API_KEY`;
  return provider === "gemini" ? [own, "GOOGLE_API_KEY"] : [own];
}
function givenKey(provider, places) {
  if (isKey(places.apiKey)) return { key: places.apiKey, source: "call" };
  const key = places.keys?.(provider);
  return isKey(key) ? { key, source: "engine" } : void 0;
}
function isKey(value) {
  return typeof value === "string" && value.trim() !== "";
}
function fromEnvironment(variable) {
  const host = globalThis;
  try {
    return host.process?.env?.[variable];
  } catch {
    return void 0;
  }
}

// ../../src/validate/transcript.ts
function transcriptIssues(messages2, openEnd = false) {
  const turn = { index: 0, calls: /* @__PURE__ */ new Map(), answered: /* @__PURE__ */ new Set() };
  let issues = fine;
  for (let index = 0; index < messages2.length; index++) {
    const message3 = messages2[index];
    if (!isObject(message3)) continue;
    const { role, toolCalls, toolCallId } = message3;
    if (role === "tool") {
      issues = join(issues, takeAnswer(turn, toolCallId, index));
      continue;
    }
    if (turn.calls.size > 0) issues = join(issues, endTurn(turn));
    if (Array.isArray(toolCalls)) startTurn(turn, toolCalls, index);
  }
  return openEnd ? issues : join(issues, endTurn(turn));
}
function isObject(value) {
  return typeof value === "object" && value !== null;
}
function startTurn(turn, calls, index) {
  turn.index = index;
  calls.forEach((call2, at) => {
    if (isObject(call2) && typeof call2["id"] === "string") turn.calls.set(call2["id"], at);
  });
}
function takeAnswer(turn, id, index) {
  if (typeof id !== "string") return fine;
  if (turn.calls.has(id) && !turn.answered.has(id)) {
    turn.answered.add(id);
    return fine;
  }
  const problem = turn.calls.has(id) ? `answers ${id} a second time` : `answers ${id}, which is no call of the assistant message before it`;
  return [{ path: `messages[${index}].toolCallId`, problem }];
}
function endTurn({ index, calls, answered }) {
  let issues = fine;
  if (answered.size < calls.size) {
    for (const [id, at] of calls) {
      if (answered.has(id)) continue;
      const path = `messages[${index}].toolCalls[${at}]`;
      issues = join(issues, [{ path, problem: `tool call ${id} is not answered` }]);
    }
  }
  calls.clear();
  answered.clear();
  return issues;
}

// ../../src/validate/base64-problem.ts
function base64Problem(base642) {
  if (base642 === "") return "is empty";
  if (base642.startsWith("data:")) return "is a data URI; use imageFromDataUri";
  const at = base642.search(/[^A-Za-z0-9+/]/);
  const padding2 = at === -1 ? 0 : base642.length - at;
  if (padding2 > 0 && (padding2 > 2 || base642.slice(at) !== "=".repeat(padding2))) {
    return `is not base64: character ${at + 1} is ${JSON.stringify(base642[at])}`;
  }
  if (base642.length % 4 === 0) return void 0;
  return `is not base64: its length, ${base642.length}, is not a multiple of 4 (is the padding missing?)`;
}

// ../../src/validate/validate-image.ts
var imageMimeType = must(
  'an image type such as "image/png"',
  (value) => typeof value === "string" && /^image\/[a-z0-9][a-z0-9.+-]*$/.test(value)
);
var imageUrl = must(
  "an http or https address",
  (value) => typeof value === "string" && /^https?:\/\/[^\s/]/i.test(value)
);
var base64 = (value) => {
  if (typeof value !== "string") return refuse("a base64 string", value);
  const problem = base64Problem(value);
  return problem === void 0 ? fine : [{ path: "", problem }];
};
var facts = { width: count, height: count, revisedPrompt: text, metadata: jsonObject };
var image = remembered(
  tagged({
    base64: shape({ type: tag, base64, mimeType: imageMimeType }, facts),
    url: shape({ type: tag, url: imageUrl }, { ...facts, mimeType: imageMimeType }),
    file: shape({ type: tag, path: someText }, { ...facts, mimeType: imageMimeType })
  })
);
function validateImage(value) {
  return image(value);
}

// ../../src/validate/validate-message.ts
var roles = ["system", "user", "assistant", "tool"];
var toolCall = shape(
  { id: someText, name: someText, arguments: jsonObject },
  { rawArguments: text, opaque: json }
);
var part = tagged({
  text: shape({ type: tag, text }),
  image: shape({ type: tag, image: validateImage }, { detail: oneOf(["auto", "low", "high"]) }),
  reasoning: shape({ type: tag, text }, { opaque: json, provider: text })
});
var parts = listOf(part);
var content = (value) => {
  if (typeof value === "string") return fine;
  return Array.isArray(value) ? parts(value) : refuse("a string or a list of parts", value);
};
var message = shape(
  { role: oneOf(roles), content },
  {
    toolCalls: listOf(toolCall),
    toolCallId: someText,
    name: someText,
    metadata: jsonObject
  }
);
function validateMessage(value) {
  const issues = message(value);
  return isPlainObject(value) ? join(issues, byRole(value)) : issues;
}
function byRole(value) {
  const { role, toolCalls, toolCallId } = value;
  let issues = fine;
  if (role === "tool" && toolCallId === void 0) {
    issues = [{ path: "toolCallId", problem: "is missing: a tool message answers one call" }];
  }
  if (role !== "tool" && toolCallId !== void 0) {
    issues = [{ path: "toolCallId", problem: "is for tool messages only" }];
  }
  if (toolCalls === void 0) return issues;
  return role === "assistant" ? join(issues, repeatedIds(toolCalls)) : join(issues, [{ path: "toolCalls", problem: "is for assistant messages only" }]);
}
function repeatedIds(toolCalls) {
  if (!Array.isArray(toolCalls) || toolCalls.length < 2) return fine;
  const seen = /* @__PURE__ */ new Set();
  let issues = fine;
  toolCalls.forEach((call2, index) => {
    if (!isPlainObject(call2)) return;
    const { id } = call2;
    if (seen.has(id)) {
      const path = `toolCalls[${index}].id`;
      issues = join(issues, [{ path, problem: `is used twice in this message: ${String(id)}` }]);
    }
    seen.add(id);
  });
  return issues;
}

// ../../src/validate/validate-request.ts
var messages = listOf(remembered(validateMessage));
var tools2 = listOf(toolSpec);
var { providerOptions, metadata, ...optionalFields } = requestFields;
var request = shape(
  {
    messages: (value) => Array.isArray(value) && value.length === 0 ? refuse("a list of at least one message", value) : messages(value),
    tools: (value) => join(tools2(value), repeatedNames(value)),
    providerOptions,
    metadata
  },
  { ...optionalFields, responseFormat }
);
function validateRequest(value) {
  const issues = request(value);
  if (!isPlainObject(value)) return issues;
  const conversation = Array.isArray(value["messages"]) ? transcriptIssues(value["messages"]) : fine;
  return join(join(issues, conversation), choiceIssues(value));
}
function choiceIssues(value) {
  const { toolChoice, tools: offered } = value;
  if (typeof toolChoice !== "string" || !Array.isArray(offered)) return fine;
  if (toolChoice === "required" && offered.length === 0) {
    return [{ path: "toolChoice", problem: "is required, but the request has no tools" }];
  }
  const known2 = offered.some((tool2) => isPlainObject(tool2) && tool2["name"] === toolChoice);
  if (known2 || toolChoice === "" || toolChoiceWords.includes(toolChoice)) return fine;
  const words2 = toolChoiceWords.join(", ");
  return within("toolChoice", refuse(`${words2} or the name of a tool of the request`, toolChoice));
}

// ../../src/async/lazy-abort.ts
function lazyAbort() {
  return { reason: void 0, controller: void 0 };
}
function abortWith(abort, reason) {
  if (abort.reason !== void 0) return;
  abort.reason = reason;
  abort.controller?.abort(reason);
}
function signalOf(abort) {
  if (abort.controller === void 0) {
    abort.controller = new AbortController();
    if (abort.reason !== void 0) abort.controller.abort(abort.reason);
  }
  return abort.controller.signal;
}
var stopOf = /* @__PURE__ */ Symbol("allm-ts.stop");
function withLazySignal(options) {
  const held = options;
  return Object.defineProperty(held, "signal", lazySignal);
}
var lazySignal = {
  enumerable: true,
  configurable: true,
  get() {
    return signalOf(this[stopOf]);
  }
};

// ../../src/collect/collector-state.ts
function createCollector(thread = { messages: [], metadata: {} }) {
  return {
    thread,
    count: 0,
    requestId: "",
    provider: "",
    id: void 0,
    model: void 0,
    usage: {},
    parked: none3,
    openKind: void 0,
    openIndex: void 0,
    openText: "",
    openAt: -1,
    calls: none3,
    end: void 0,
    error: void 0,
    active: false,
    started: none3,
    results: none3,
    toolMessages: none3,
    halts: none3,
    questions: none3,
    answers: 0,
    steps: none3,
    haltedReason: void 0,
    result: void 0
  };
}
var none3 = [];

// ../../src/collect/clear-message.ts
function clearMessage(state) {
  clearBlocks(state);
  state.calls = none3;
  state.end = void 0;
  state.active = false;
  state.usage = {};
  state.started = none3;
  state.results = none3;
  state.toolMessages = none3;
  state.halts = none3;
}

// ../../src/data/thread.ts
function appendMessages(to, ...messages2) {
  return { ...to, messages: to.messages.concat(messages2) };
}

// ../../src/events/tool-message.ts
var awaitingUser = "<awaiting user response>";
function toolMessage(toolCallId, content2) {
  return { role: "tool", content: content2, toolCallId };
}
function askedMessage(toolCallId) {
  return { role: "tool", content: awaitingUser, toolCallId, metadata: { askUser: true } };
}
function interruptedMessage(toolCallId, reason) {
  const content2 = JSON.stringify({ error: sentences[reason] });
  return { role: "tool", content: content2, toolCallId, metadata: { interrupted: true, reason } };
}
var sentences = {
  length: "the call was cut off by the length limit and was not run",
  content_filter: "the call was cut off by a content filter and was not run",
  cancelled: "the run was stopped before this call had a result",
  error: "the run failed before this call had a result",
  interrupted: "the run was interrupted before this call had a result"
};

// ../../src/collect/runs-tools.ts
function runsTools(response) {
  return response.toolCalls.length > 0 && endedByItself(response.finishReason);
}
function endedByItself(finishReason2) {
  return finishReason2 === "tool_calls" || finishReason2 === "stop";
}
function isDone(step) {
  return step.halt !== void 0 || step.manualToolCalls.length === 0 && !runsTools(step.response);
}
function inCallOrder(halts, { toolCalls }) {
  if (halts.length < 2) return halts;
  const order = toolCalls.map(({ id }) => id);
  return halts.toSorted((a, b) => order.indexOf(a.toolCallId) - order.indexOf(b.toolCallId));
}

// ../../src/collect/fold-late-event.ts
function foldLateEvent(state, event) {
  switch (event.type) {
    case "tool_execution_started":
      state.started = [...state.started, event.id];
      return;
    case "tool_execution_completed":
      state.results = [...state.results, storedResult(event)];
      return;
    case "tool_result_encoded":
      addToolMessage(
        state,
        event.interrupted === void 0 ? toolMessage(event.id, event.content) : interruptedMessage(event.id, event.interrupted)
      );
      if (event.halt !== void 0) state.halts = [...state.halts, event.halt];
      return;
    case "ask_user_requested": {
      const { toolCallId, question, options } = event;
      addToolMessage(state, askedMessage(toolCallId));
      state.halts = [...state.halts, { reason: "ask_user", toolCallId, question, options }];
      return;
    }
    case "tool_halt": {
      const { toolCallId, reason, result, content: content2 } = event;
      addToolMessage(state, toolMessage(toolCallId, content2));
      state.halts = [...state.halts, { reason, toolCallId, result }];
      return;
    }
    case "step_completed":
      completeStep(state, event);
      return;
    case "chat_completed":
      state.result = event.result;
      return;
    default:
      assertNever(event);
  }
}
function completeStep(state, event) {
  const { response, newMessages, manualToolCalls, halt } = event;
  state.thread = appendMessages(state.thread, ...newMessages);
  const step = defined({
    thread: state.thread,
    response,
    toolResults: newMessages.filter((message3) => message3.role === "tool"),
    done: isDone(event),
    manualToolCalls,
    halt
  });
  state.steps = [...state.steps, step];
  state.haltedReason = event.haltedReason;
  state.questions = inCallOrder(state.halts, response).filter(
    (asked) => asked.reason === "ask_user"
  );
  clearMessage(state);
}
function storedResult({ id, result, outcome }) {
  return defined({
    toolCallId: id,
    value: "ok" in result ? result.ok : void 0,
    error: "error" in result ? result.error : void 0,
    question: outcome?.type === "ask_user" ? { question: outcome.question, options: outcome.options } : void 0,
    haltReason: outcome?.type === "halt" ? outcome.reason : void 0
  });
}
function addToolMessage(state, message3) {
  state.results = state.results.filter(({ toolCallId }) => toolCallId !== message3.toolCallId);
  state.toolMessages = [...state.toolMessages, message3];
}

// ../../src/collect/fold-event.ts
function foldEvent(state, event) {
  state.count++;
  switch (event.type) {
    case "text_delta":
      growBlock(state, "text", event.index, event.delta);
      return;
    case "text_completed":
      closeBlock(state, "text", event.index, event);
      return;
    case "reasoning_delta":
      growBlock(state, "reasoning", event.index, event.delta);
      return;
    case "reasoning_completed":
      closeBlock(state, "reasoning", event.index, event);
      return;
    case "tool_call_started":
      setCall(state, { id: event.id, name: event.name, raw: "" });
      return;
    case "tool_call_delta":
      growCall(state, event.id, event.argumentsDelta);
      return;
    case "tool_call_completed": {
      const { call: call2 } = event;
      setCall(state, { id: call2.id, name: call2.name, raw: call2.rawArguments ?? "", call: call2 });
      return;
    }
    case "image_completed":
      addImage(state, event.image);
      return;
    case "message_started":
      startMessage(state, event);
      return;
    case "message_completed":
      completeMessage(state, event);
      return;
    case "raw_chunk":
      return;
    case "error":
      state.error = event.error;
      return;
    default:
      foldLateEvent(state, event);
  }
}
function startMessage(state, event) {
  clearMessage(state);
  state.active = true;
  state.questions = [];
  state.requestId = event.requestId;
  state.provider = event.provider;
  state.id = event.id;
  state.model = event.model;
  state.usage = event.usage ?? {};
}
function completeMessage(state, event) {
  const { message: message3, finishReason: finishReason2, rawFinishReason, metadata: metadata2 } = event;
  state.end = defined({ message: message3, finishReason: finishReason2, rawFinishReason, metadata: metadata2 });
  state.active = true;
  state.answers++;
  if (event.usage !== void 0) state.usage = { ...state.usage, ...event.usage };
}
function setCall(state, call2) {
  const at = state.calls.findIndex(({ id }) => id === call2.id);
  state.calls = at === -1 ? [...state.calls, call2] : state.calls.with(at, call2);
}
function growCall(state, id, delta) {
  const at = state.calls.findLastIndex((call2) => call2.id === id);
  const known2 = state.calls[at];
  if (known2 === void 0) state.calls = [...state.calls, { id, name: "", raw: delta }];
  else state.calls = state.calls.with(at, { ...known2, raw: known2.raw + delta });
}

// ../../src/async/watchdog.ts
function watchdog(clock, onSilence) {
  let deadline = Number.POSITIVE_INFINITY;
  let firesAt = Number.POSITIVE_INFINITY;
  let granted = 0;
  let cancel;
  const arm = () => {
    cancel?.();
    firesAt = deadline;
    cancel = startTimer(clock, Math.max(0, deadline - clock.now()), look);
  };
  const look = () => {
    cancel = void 0;
    firesAt = Number.POSITIVE_INFINITY;
    if (deadline === Number.POSITIVE_INFINITY) return;
    if (clock.now() < deadline) arm();
    else {
      deadline = Number.POSITIVE_INFINITY;
      onSilence(granted);
    }
  };
  return {
    feed(ms) {
      if (ms === void 0 || ms === Number.POSITIVE_INFINITY) {
        deadline = Number.POSITIVE_INFINITY;
        return;
      }
      granted = ms;
      deadline = clock.now() + ms;
      if (deadline < firesAt) arm();
    },
    stop() {
      deadline = Number.POSITIVE_INFINITY;
      cancel?.();
      cancel = void 0;
      firesAt = deadline;
    }
  };
}

// ../../src/stream/attempt.ts
function openAttempt(call2, apiKey) {
  const abort = lazyAbort();
  const { requestId, sessionId, includeRawChunks, clock, newId } = call2.adapterOptions;
  const options = withLazySignal({
    [stopOf]: abort,
    requestId,
    sessionId,
    includeRawChunks,
    clock,
    newId,
    apiKey
  });
  const attempt = {
    call: call2,
    source: openSource(call2, options),
    abort,
    onResult: (result) => settled(attempt)?.onBatch(result.done === true ? void 0 : result.value),
    onError: (error) => settled(attempt)?.onFailure(typed(error, call2)),
    dog: void 0,
    stopped: void 0,
    waiting: void 0
  };
  return attempt;
}
function pullBatch(attempt, timeoutMs2, puller) {
  if (attempt.stopped !== void 0) {
    puller.onFailure(attempt.stopped);
    return;
  }
  attempt.waiting = puller;
  attempt.source.next().then(attempt.onResult, attempt.onError);
  if (timeoutMs2 === void 0) return;
  soon.then(() => {
    if (attempt.waiting === puller) watchOver(attempt).feed(timeoutMs2);
  }, noFailure);
}
var soon = Promise.resolve();
var noFailure = () => void 0;
function stopAttempt(attempt, error) {
  if (attempt.stopped !== void 0) return;
  attempt.stopped = error;
  abortWith(attempt.abort, error);
  const { waiting } = attempt;
  attempt.waiting = void 0;
  waiting?.onFailure(error);
}
async function cutAttempt(attempt) {
  attempt.dog?.stop();
  const busy = attempt.waiting !== void 0 || attempt.stopped !== void 0;
  stopAttempt(attempt, cancelledCall(attempt.call));
  const left = attempt.source.return?.();
  if (busy) left?.catch(() => void 0);
  else await left;
}
function cancelledCall({ provider, requestId, signal: signal2 }) {
  const cause = signal2?.reason;
  const message3 = `the call to ${provider} was cancelled`;
  return new StreamError("cancelled", message3, { provider, requestId, cause });
}
function openSource(call2, options) {
  try {
    return call2.adapter.stream(call2.request, options)[Symbol.asyncIterator]();
  } catch (error) {
    throw typed(error, call2);
  }
}
function settled(attempt) {
  const { waiting } = attempt;
  attempt.waiting = void 0;
  if (waiting !== void 0) attempt.dog?.feed(void 0);
  return waiting;
}
function watchOver(attempt) {
  const { provider, requestId, clock } = attempt.call;
  attempt.dog ??= watchdog(clock, (ms) => {
    const message3 = `${provider} was silent for ${ms} ms`;
    stopAttempt(attempt, new AdapterError("timeout", message3, { provider, requestId }));
  });
  return attempt.dog;
}
function typed(error, { provider, requestId }) {
  if (isAllmError(error)) return error;
  const text3 = error instanceof Error ? error.message : String(error);
  const message3 = `${provider} failed: ${text3}`;
  return new AdapterError("unknown", message3, { provider, requestId, cause: error });
}

// ../../src/async/retry.ts
async function retry(makePlan, attempt) {
  let plan;
  for (let number2 = 1; ; number2++) {
    try {
      return await attempt();
    } catch (error) {
      plan ??= makePlan();
      const failure = plan.judge(error);
      if (!failure.transient || number2 >= plan.maxAttempts) throw error;
      const asked = plan.respectRetryAfter ? failure.retryAfterMs ?? 0 : 0;
      if (asked > plan.maxDelayMs) throw plan.tooLong(error, asked);
      const delayMs2 = delayAfter(number2, asked, plan);
      plan.onRetry?.(error, number2, delayMs2);
      await plan.clock.sleep(delayMs2, plan.signal);
    }
  }
}
function delayAfter(attempt, asked, plan) {
  const backOff = Math.min(plan.maxDelayMs, plan.baseDelayMs * 2 ** (attempt - 1));
  const jitter = Math.floor((plan.random ?? Math.random)() * (plan.jitterMs + 1));
  return (asked > 0 ? asked : backOff) + jitter;
}

// ../../src/stream/model-call.ts
function callFacts(call2) {
  const { requestId, provider, request: request2, adapterOptions } = call2;
  return { requestId, provider, model: request2.model, sessionId: adapterOptions.sessionId };
}

// ../../src/stream/retry-policy.ts
var defaultRetryPolicy = {
  maxAttempts: 3,
  baseDelayMs: 500,
  maxDelayMs: 3e4,
  jitterMs: 250,
  retryOn: ["rate_limited", "provider_unavailable", "timeout", "network_error"],
  respectRetryAfter: true
};
function retryPlan(option, scene) {
  const policy2 = settlePolicy(option);
  return {
    ...policy2,
    ...scene,
    judge: (error) => {
      const cut = error instanceof StreamError && error.reason === "truncated";
      if (cut) return { transient: policy2.retryOn.includes("network_error") };
      if (!(error instanceof AdapterError || error instanceof ImageAdapterError)) {
        return { transient: false };
      }
      const listed2 = policy2.retryOn.some((reason) => reason === error.reason);
      return { transient: listed2 && error.retryable, retryAfterMs: error.retryAfterMs };
    },
    tooLong: (error, retryAfterMs2) => tooLong(error, retryAfterMs2, policy2.maxDelayMs)
  };
}
function settlePolicy(option) {
  if (option === void 0 || option === "default") return defaultRetryPolicy;
  if (option === false) return { ...defaultRetryPolicy, maxAttempts: 1 };
  return { ...defaultRetryPolicy, ...option };
}
function tooLong(error, retryAfterMs2, maxDelayMs) {
  if (!(error instanceof AdapterError || error instanceof ImageAdapterError)) return error;
  const message3 = `${error.message} (the provider asks to wait ${retryAfterMs2} ms, longer than maxDelayMs ${maxDelayMs}, so the call was not tried again)`;
  const { provider, status, requestId, metadata: metadata2, cause } = error;
  const details = { provider, status, requestId, metadata: metadata2, cause, retryAfterMs: retryAfterMs2, retryable: true };
  return error instanceof AdapterError ? new AdapterError(error.reason, message3, details) : new ImageAdapterError(error.reason, message3, details);
}

// ../../src/stream/first-batch.ts
function firstBatch(opening) {
  const { call: call2, stop } = opening;
  const apiKey = call2.findKey();
  const plan = () => retryPlan(call2.retry, {
    clock: call2.clock,
    signal: signalOf(stop),
    onRetry: (error, attempt, delayMs2) => reportRetry(call2, error, attempt, delayMs2)
  });
  return retry(plan, () => tryOnce(opening, apiKey));
}
function tryOnce(opening, apiKey) {
  const { call: call2 } = opening;
  const attempt = openAttempt(call2, apiKey);
  opening.attempt = attempt;
  return new Promise((resolve) => {
    const fail = (error) => {
      opening.attempt = void 0;
      resolve(failAfter(cutAttempt(attempt), error));
    };
    const puller = {
      onBatch(batch) {
        if (batch === void 0) fail(emptyAnswer(call2));
        else if (batch[0] === void 0) pullBatch(attempt, call2.requestTimeoutMs, puller);
        else if (batch[0].type === "error") fail(errorFromJSON(batch[0].error));
        else resolve(batch);
      },
      onFailure: fail
    };
    pullBatch(attempt, call2.requestTimeoutMs, puller);
  });
}
async function failAfter(work, error) {
  await work.catch(() => void 0);
  throw error;
}
function emptyAnswer({ provider, requestId }) {
  const message3 = `${provider} gave an answer without any event`;
  return new StreamError("truncated", message3, { provider, requestId, eventIndex: 0 });
}
function reportRetry(call2, failure, attempt, delayMs2) {
  if (!isObserved()) return;
  const { partial: _content, ...error } = errorToJSON(failure);
  emitTelemetry({
    name: "retry",
    at: call2.clock.now(),
    ...callFacts(call2),
    attempt,
    delayMs: delayMs2,
    error
  });
}

// ../../src/stream/model-run.ts
var over2 = { done: true, value: void 0 };
function modelRun(call2, state = createCollector()) {
  state.requestId = call2.requestId;
  state.provider = call2.provider;
  const live = {
    call: call2,
    state,
    stop: lazyAbort(),
    attempt: void 0,
    trace: void 0,
    opening: void 0,
    unlink: void 0,
    phase: "new"
  };
  return { state, next: () => next(live), return: () => leave(live) };
}
function next(live) {
  const { phase, attempt } = live;
  if (phase === "open" && attempt !== void 0) return pull(live, attempt);
  if (phase === "new") return live.opening = start(live);
  return phase === "ending" ? end(live, false) : Promise.resolve(over2);
}
async function start(live) {
  const { call: call2 } = live;
  live.phase = "opening";
  live.trace = span("stream", callFacts(call2), call2.clock);
  try {
    follow(live);
    const batch = await firstBatch(live);
    live.phase = "open";
    return { done: false, value: take(live, batch) };
  } catch (error) {
    live.phase = "ended";
    live.unlink?.();
    live.trace.error(error);
    if (live.attempt !== void 0) await cutAttempt(live.attempt);
    throw error;
  }
}
function follow(live) {
  const { signal: signal2 } = live.call;
  if (signal2 === void 0) return;
  const onAbort = () => stopCall(live);
  if (signal2.aborted) throw cancelledCall(live.call);
  signal2.addEventListener("abort", onAbort, { once: true });
  live.unlink = () => signal2.removeEventListener("abort", onAbort);
}
function stopCall({ call: call2, stop, attempt }) {
  const error = cancelledCall(call2);
  abortWith(stop, error);
  if (attempt !== void 0) stopAttempt(attempt, error);
}
async function leave(live) {
  if (live.phase === "opening") {
    stopCall(live);
    await live.opening?.catch(() => void 0);
  }
  return live.phase === "ended" ? over2 : end(live, true);
}
function pull(live, attempt) {
  return new Promise((resolve) => {
    const settle2 = (batch) => {
      try {
        resolve({ done: false, value: take(live, batch) });
      } catch (error) {
        resolve(failed2(live, error));
      }
    };
    pullBatch(attempt, live.call.streamTimeoutMs, {
      onBatch: (batch) => settle2(batch ?? [failureEvent(truncated(live))]),
      onFailure: (error) => settle2([failureEvent(error)])
    });
  });
}
async function failed2(live, error) {
  await end(live, true);
  throw error;
}
function take(live, batch) {
  const { state, call: call2 } = live;
  for (let index = 0; index < batch.length; index++) {
    const event = batch[index];
    if (event === void 0) continue;
    foldEvent(state, event);
    call2.onEvent?.(event);
    if (event.type === "message_completed" || event.type === "error") {
      live.phase = "ending";
      return index === batch.length - 1 ? batch : batch.slice(0, index + 1);
    }
  }
  return batch;
}
function failureEvent(error) {
  return { type: "error", error: error.toJSON() };
}
function truncated({ call: call2, state }) {
  const { provider, requestId } = call2;
  const message3 = `the answer of ${provider} ended without its last event`;
  return new StreamError("truncated", message3, { provider, requestId, eventIndex: state.count });
}
async function end(live, cut) {
  const { attempt, state } = live;
  live.phase = "ended";
  try {
    if (attempt !== void 0) {
      const whole = !cut && state.error === void 0 && await windUp(attempt);
      if (!whole) await cutAttempt(attempt);
    }
  } finally {
    live.phase = "ended";
    attempt?.dog?.stop();
    live.unlink?.();
    report(live);
  }
  return over2;
}
function windUp(attempt) {
  return new Promise((resolve) => {
    pullBatch(attempt, attempt.call.streamTimeoutMs, {
      onBatch: (batch) => resolve(batch === void 0),
      onFailure: () => resolve(false)
    });
  });
}
function report({ trace, state }) {
  if (trace === void 0 || !isObserved()) return;
  if (state.error !== void 0) {
    trace.error(state.error);
    return;
  }
  const response = toResponse(state);
  const { finishReason: finishReason2, usage } = response;
  trace.stop({ finishReason: finishReason2, usage, content: response });
}

// ../../src/stream/start-call.ts
function checkRequest(scene, request2) {
  const { adapter } = scene.engine;
  if (adapter === void 0) {
    throw new EngineError(
      "missing_adapter",
      "the engine has no adapter; give one to createEngine({ adapter })"
    );
  }
  if (adapter.needsModel === true && request2.model === void 0) {
    const { provider } = adapter;
    throw new EngineError(
      "missing_model",
      `${provider} needs a model; give one to the call, the request or createEngine({ model })`,
      { provider }
    );
  }
  assertValid("invalid_request", validateRequest(request2));
}
function startCall(scene, request2, state) {
  return modelRun(modelCall(scene, request2), state);
}
function modelCall(scene, request2) {
  const { engine, call: call2, requestId, sessionId } = scene;
  const { adapter, clock, newId } = engine;
  if (adapter === void 0) throw new EngineError("missing_adapter", "the engine has no adapter");
  return {
    adapter,
    provider: adapter.provider,
    request: request2,
    requestId,
    adapterOptions: {
      requestId,
      sessionId,
      includeRawChunks: optionOf(scene, "includeRawChunks"),
      clock,
      newId
    },
    findKey: () => keyFor(adapter, { apiKey: call2.apiKey, keys: engine.keys }),
    clock,
    signal: call2.signal,
    requestTimeoutMs: optionOf(scene, "requestTimeoutMs"),
    streamTimeoutMs: optionOf(scene, "streamTimeoutMs") ?? 6e4,
    retry: call2.retry ?? engine.retry,
    onEvent: optionOf(scene, "onEvent")
  };
}

// ../../src/engine/prepare-call.ts
function prepareCall(engine, input, options) {
  const scene = runScene(engine, options);
  const draft = isMessages(input) ? { messages: input } : checkedKeys(input);
  const request2 = buildRequest(scene, draft);
  checkRequest(scene, request2);
  const { call: call2, engine: parts2 } = scene;
  const format = call2.responseFormat ?? draft.responseFormat ?? parts2.defaults.responseFormat;
  return { scene, run: startCall(scene, request2), schema: outputSchema(format) };
}
function checkedKeys(request2) {
  if (typeof request2 !== "object" || request2 === null) {
    const problem = "must be a request or a list of messages";
    throw new ValidationError("invalid_request", [{ path: "", problem }]);
  }
  assertValid("invalid_request", unknownKeys(request2, requestKeys));
  return request2;
}
function isMessages(input) {
  return Array.isArray(input);
}

// ../../src/engine/generate.ts
function streamGenerate(engine, input, options) {
  const { scene, run } = prepareCall(engine, input, options);
  return runStream(run, { keep: keepEvent(scene) });
}

// ../../src/make/messages.ts
function user(textOrParts, options = {}) {
  return message2("user", textOrParts, options, messageKeys);
}
var messageKeys = ["name", "metadata"];
var assistantKeys = ["toolCalls", ...messageKeys];
function message2(role, content2, options, legalKeys2) {
  assertOptions("invalid_message", options, legalKeys2);
  const { name: name2, metadata: metadata2, toolCalls } = options;
  const made = defined({
    role,
    content: content2,
    toolCalls: toolCalls?.length === 0 ? void 0 : toolCalls,
    name: name2,
    metadata: metadata2
  });
  assertValid("invalid_message", validateMessage(made));
  return made;
}

// ../../src/make/base64.ts
var alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
var padding = 61;
function bytesToBase64(bytes) {
  const native = bytes;
  return native.toBase64?.() ?? encode(bytes);
}
function encode(bytes) {
  const pairs = letterPairs();
  const out = new Uint16Array(Math.ceil(bytes.length / 3) * 2);
  let at = 0;
  for (let index = 0; index < bytes.length; index += 3) {
    const group = (bytes[index] ?? 0) << 16 | (bytes[index + 1] ?? 0) << 8 | (bytes[index + 2] ?? 0);
    out[at++] = pairs[group >> 12] ?? 0;
    out[at++] = pairs[group & 4095] ?? 0;
  }
  const letters = new Uint8Array(out.buffer);
  letters.fill(padding, letters.length - (3 - bytes.length % 3) % 3);
  return new TextDecoder().decode(letters);
}
function letterPairs() {
  const letters = new Uint8Array(8192);
  for (let value = 0; value < 4096; value++) {
    letters[value * 2] = alphabet.charCodeAt(value >> 6);
    letters[value * 2 + 1] = alphabet.charCodeAt(value & 63);
  }
  return new Uint16Array(letters.buffer);
}

// ../../src/make/sniff-mime-type.ts
function sniffMimeType(image2) {
  const start4 = typeof image2 === "string" ? decodeStart(image2) : latin1(image2.subarray(0, 12));
  if (start4.startsWith("\x89PNG\r\n\n")) return "image/png";
  if (start4.startsWith("\xFF\xD8\xFF")) return "image/jpeg";
  if (start4.startsWith("GIF87a") || start4.startsWith("GIF89a")) return "image/gif";
  return start4.startsWith("RIFF") && start4.endsWith("WEBP") ? "image/webp" : void 0;
}
function decodeStart(base642) {
  try {
    return atob(base642.slice(0, 16));
  } catch {
    return "";
  }
}
function latin1(bytes) {
  return String.fromCharCode(...bytes);
}

// ../../src/async/linked-abort.ts
function linkedAbort(parent) {
  const controller = new AbortController();
  const follow2 = () => controller.abort(parent?.reason);
  if (parent?.aborted === true) follow2();
  else parent?.addEventListener("abort", follow2, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent?.removeEventListener("abort", follow2)
  };
}

// ../../src/http/guarded-call.ts
function guardCall(call2) {
  const { provider, requestId, requestTimeoutMs, streamTimeoutMs } = call2;
  const abort = linkedAbort(call2.signal);
  const timed = requestTimeoutMs !== void 0 || streamTimeoutMs !== void 0;
  const dog = watchdog(call2.clock ?? systemClock, (ms) => {
    const message3 = `${provider} was silent for ${ms} ms`;
    abort.abort(new AdapterError("timeout", message3, { provider, requestId }));
  });
  if (timed) dog.feed(requestTimeoutMs ?? streamTimeoutMs);
  let begun = requestTimeoutMs === void 0;
  return {
    signal: abort.signal,
    handOut() {
      begun = true;
      if (timed) dog.feed(void 0);
    },
    wait() {
      if (timed && begun) dog.feed(streamTimeoutMs);
    },
    close() {
      dog.stop();
      abort.unlink();
      abort.abort(new Error("closed"));
    }
  };
}

// ../../src/http/read-bounded.ts
async function readBounded(response, maxBytes2) {
  const reader = response.body?.getReader();
  if (reader === void 0) return "";
  const decoder = new TextDecoder();
  let text3 = "";
  let size = 0;
  try {
    while (size < maxBytes2) {
      const { done, value } = await reader.read();
      if (done) return text3 + decoder.decode();
      text3 += decoder.decode(value.subarray(0, maxBytes2 - size), { stream: true });
      size += value.byteLength;
    }
    return text3;
  } finally {
    await reader.cancel().catch(() => void 0);
  }
}

// ../../src/http/secrets.ts
var keyHeaders = /* @__PURE__ */ new Set([
  "authorization",
  "api-key",
  "x-api-key",
  "x-goog-api-key"
]);
function secretFilter(headers) {
  const secrets = Object.entries(headers).filter(([name2]) => keyHeaders.has(name2.toLowerCase())).map(([, value]) => value.replace(/^(?:Bearer|Basic)\s+/i, "")).filter((secret) => secret !== "");
  return (text3) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text3);
}
function withoutSecrets(failure, headers) {
  const clean = secretFilter(headers);
  const { metadata: metadata2 } = failure;
  return {
    ...failure,
    message: clean(failure.message),
    ...metadata2 === void 0 ? {} : { metadata: cleanMembers(metadata2, clean) }
  };
}
function cleanMembers(members2, clean) {
  return Object.fromEntries(
    Object.entries(members2).map(([name2, value]) => [name2, cleanValue(value, clean)])
  );
}
function cleanValue(value, clean) {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, clean));
  if (typeof value !== "object" || value === null) return value;
  return cleanMembers({ ...value }, clean);
}

// ../../src/http/transport-failure.ts
var platformTimeouts = /* @__PURE__ */ new Set([
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT"
]);
var timeoutCodes = /* @__PURE__ */ new Set([
  ...platformTimeouts,
  "UND_ERR_CONNECT_TIMEOUT",
  "ETIMEDOUT",
  "TimeoutError"
]);
function transportFailure(error, call2, signal2) {
  const { provider, requestId } = call2;
  if (signal2.aborted) {
    const reason = signal2.reason;
    if (isAllmError(reason)) return reason;
    return new StreamError("cancelled", `the call to ${provider} was cancelled`, {
      provider,
      requestId,
      cause: reason
    });
  }
  if (isAllmError(error)) return error;
  const { code, text: text3 } = describe2(error);
  const timedOut = code !== void 0 && timeoutCodes.has(code);
  const advice2 = code !== void 0 && platformTimeouts.has(code) ? "; the limit is that of this runtime, and only a fetch of your own can raise it" : "";
  const message3 = `${provider} could not be reached: ${text3}${advice2}`;
  return new AdapterError(timedOut ? "timeout" : "network_error", message3, {
    provider,
    requestId,
    cause: error,
    ...code === void 0 ? {} : { metadata: { code } }
  });
}
function describe2(error) {
  if (!(error instanceof Error)) return { code: void 0, text: String(error) };
  const inner = error.cause instanceof Error ? error.cause : error;
  const text3 = inner.message === "" ? error.message : inner.message;
  if ("code" in inner && typeof inner.code === "string") {
    return { code: inner.code, text: text3 === "" ? inner.code : text3 };
  }
  return { code: inner.name === "TimeoutError" ? inner.name : void 0, text: text3 };
}

// ../../src/http/post.ts
var maxFailureBytes = 64 * 1024;
async function post(call2, signal2) {
  const headers = legalHeaders(call2);
  const send = call2.fetch ?? globalThis.fetch;
  if (signal2.aborted) throw transportFailure(signal2.reason, call2, signal2);
  let response;
  try {
    const body = call2.body === void 0 ? {} : { body: call2.body };
    const init = { method: "POST", headers, ...body, redirect: "manual", signal: signal2 };
    response = await unlessAborted(send(call2.url, init), signal2);
  } catch (error) {
    throw transportFailure(error, call2, signal2);
  }
  if (response.status < 200 || response.status >= 300) throw await refusal2(response, call2, signal2);
  call2.onResponse?.(response);
  return response;
}
function unlessAborted(sending, signal2) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      reject(reasonOf(signal2));
      sending.then((late) => late.body?.cancel()).catch(() => void 0);
    };
    signal2.addEventListener("abort", stop, { once: true });
    sending.then(resolve, reject).finally(() => signal2.removeEventListener("abort", stop));
  });
}
function legalHeaders(call2) {
  const headers = { ...call2.headers };
  const probe = new Headers();
  for (const [name2, value] of Object.entries(headers)) {
    try {
      probe.set(name2, value);
    } catch {
      const message3 = `the header ${name2} for ${call2.provider} has characters that a header can not hold`;
      const { provider, requestId } = call2;
      throw new AdapterError("invalid_request", message3, { provider, requestId });
    }
  }
  return headers;
}
async function refusal2(response, call2, signal2) {
  const { status, headers } = response;
  const facts2 = { provider: call2.provider, requestId: call2.requestId };
  if (response.type === "opaqueredirect" || status >= 300 && status < 400) {
    await response.body?.cancel();
    const message4 = `${call2.provider} answered with a redirect, which is not followed; correct baseUrl`;
    return new AdapterError("invalid_request", message4, { ...facts2, status });
  }
  let body;
  try {
    body = await readBounded(response, maxFailureBytes);
  } catch (error) {
    if (signal2.aborted) throw transportFailure(error, call2, signal2);
    body = "";
  }
  const failure = withoutSecrets(call2.parseFailure(status, body, headers), call2.headers);
  const { reason, message: message3, ...rest } = failure;
  return new AdapterError(reason, message3, { ...facts2, status, ...rest });
}

// ../../src/http/post-for-json.ts
async function postForJson(call2) {
  const guard = guardCall(call2);
  try {
    const response = await post(call2, guard.signal);
    const text3 = await response.text();
    return {
      value: parse(text3, call2, response.status),
      status: response.status,
      headers: response.headers
    };
  } catch (error) {
    throw transportFailure(error, call2, guard.signal);
  } finally {
    guard.close();
  }
}
function parse(text3, call2, status) {
  try {
    return JSON.parse(text3);
  } catch (cause) {
    const { provider, requestId } = call2;
    const message3 = `${provider} answered ${status} with a body that is not JSON: ${text3.slice(0, 120)}`;
    throw new AdapterError("malformed_response", message3, { provider, requestId, status, cause });
  }
}

// ../../src/vision/image-type.ts
function settleMimeType(declared, found, limits) {
  const mimeType = declared === void 0 || declared === "" ? found : declared;
  if (mimeType === void 0) return { problem: "has no mimeType, and its bytes do not tell it" };
  if (!limits.mimeTypes.includes(mimeType)) {
    return {
      problem: `is ${mimeType}, and ${limits.provider} takes ${limits.mimeTypes.join(", ")}`
    };
  }
  if (found !== void 0 && found !== mimeType) {
    return { problem: `is declared as ${mimeType}, but its bytes are ${found}` };
  }
  return { mimeType };
}

// ../../src/vision/inline-image.ts
function checkInlineImage(image2, limits) {
  const { base64: base642, mimeType } = image2;
  if (typeof base642 !== "string" || base642 === "") return { problem: "has no bytes" };
  const size = decodedSize(base642);
  if (size > limits.maxBytes) return { problem: tooLarge(size, limits) };
  if (!wellFormed.has(image2)) {
    const problem = base64Problem(base642);
    if (problem !== void 0) return { problem };
    wellFormed.add(image2);
  }
  return settleMimeType(mimeType, sniffMimeType(base642), limits);
}
var wellFormed = /* @__PURE__ */ new WeakSet();
async function readFileImage(image2, limits, readFile) {
  let bytes;
  try {
    bytes = await readFile(image2.path, limits.maxBytes);
  } catch (error) {
    const text3 = error instanceof Error ? error.message : String(error);
    return { problem: `can not be read from ${image2.path}: ${text3}` };
  }
  if (bytes.byteLength === 0) return { problem: `is an empty file, ${image2.path}` };
  if (bytes.byteLength > limits.maxBytes) return { problem: tooLarge(bytes.byteLength, limits) };
  const type = settleMimeType(image2.mimeType, sniffMimeType(bytes), limits);
  return type.problem === void 0 ? { bytes, mimeType: type.mimeType } : type;
}
function decodedSize(base642) {
  const padding2 = base642.endsWith("==") ? 2 : base642.endsWith("=") ? 1 : 0;
  return Math.floor(base642.length * 3 / 4) - padding2;
}
function tooLarge(size, { provider, maxBytes: maxBytes2 }) {
  return `has ${size} bytes, and ${provider} takes at most ${maxBytes2}`;
}

// ../../src/vision/read-image-file.ts
var readImageFile = async (path, maxBytes2) => {
  const files = globalThis.process?.getBuiltinModule?.("node:fs/promises");
  if (files === void 0) {
    throw new Error("this runtime has no file system; give the bytes with imageFromBytes");
  }
  const file = await files.open(path, "r");
  try {
    const facts2 = await file.stat();
    if (!facts2.isFile()) throw new Error("it is not a regular file");
    if (facts2.size > maxBytes2) throw new Error(`it has ${facts2.size} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
};

// ../../src/providers/openai/wire-value.ts
function asObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : void 0;
}
function asList(value) {
  return Array.isArray(value) ? value : [];
}
function asText(value) {
  return typeof value === "string" && value !== "" ? value : void 0;
}
function asCount(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : void 0;
}
function chunkObject(value) {
  const chunk = asObject(value);
  if (chunk === void 0) throw new SyntaxError("a chunk is no JSON object");
  return chunk;
}

// ../../src/providers/openai/merge-body.ts
var addedTo = /* @__PURE__ */ new Set(["tools", "include"]);
function mergeBody(body, over3) {
  if (over3 === void 0) return body;
  const result = { ...body };
  for (const [key, value] of Object.entries(over3)) {
    result[key] = addedTo.has(key) && Array.isArray(value) ? addItems(asList(result[key]), asList(value)) : mergeValue(result[key], value);
  }
  return result;
}
function addItems(known2, over3) {
  return [...known2, ...over3.filter((item) => !known2.includes(item))];
}
function mergeValue(known2, over3) {
  const before = asObject(known2);
  const after2 = asObject(over3);
  if (before === void 0 || after2 === void 0) return over3;
  const result = { ...before };
  for (const [key, value] of Object.entries(after2)) result[key] = mergeValue(result[key], value);
  return result;
}

// ../../src/providers/openai/call-headers.ts
function callHeaders(settings, { apiKey, stream, requestId }) {
  const { provider, official } = settings;
  const key = apiKey === void 0 || apiKey === "" ? settings.ownKey() : apiKey;
  if (key === void 0 && official && settings.headers["authorization"] === void 0) {
    const message3 = `no key for ${provider}: neither the call nor the adapter has one`;
    throw new EngineError("missing_key", message3, { provider, requestId });
  }
  const headers = {
    "content-type": "application/json",
    accept: stream ? "text/event-stream" : "application/json",
    ...key === void 0 ? {} : { authorization: `Bearer ${key}` },
    ...settings.headers
  };
  return { headers, clean: secretFilter(headers) };
}

// ../../src/http/retry-after.ts
function retryAfterMs(headers, now) {
  const ms = number(headers.get("retry-after-ms"));
  if (ms !== void 0) return Math.round(ms);
  const value = headers.get("retry-after");
  if (value === null || value.trim() === "") return void 0;
  const seconds = number(value);
  if (seconds !== void 0) return Math.round(seconds * 1e3);
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? void 0 : Math.max(0, date - (now ?? sentAt(headers)));
}
function number(value) {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return void 0;
  return Number(value);
}
function sentAt(headers) {
  const date = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(date) ? Date.now() : date;
}

// ../../src/providers/openai/parse-failure.ts
function parseFailure(provider, status, body, headers) {
  const failure = readFailure(parseJson(body));
  const providerRequestId = headers.get("x-request-id") ?? headers.get("apim-request-id");
  const judged = judgeFailure(provider, failure, status);
  const asked = retryAfterMs(headers) ?? judged.retryAfterMs;
  return {
    ...judged,
    ...asked === void 0 ? {} : { retryAfterMs: asked },
    metadata: {
      ...judged.metadata,
      ...providerRequestId === null ? {} : { providerRequestId }
    }
  };
}
function readFailure(value) {
  const outer = asObject(firstOf(value));
  const inner = firstOf(outer?.["error"] ?? outer?.["errors"] ?? value);
  const error = asObject(inner) ?? outer;
  const code = error?.["code"] ?? void 0;
  const claimed = statusIn(error?.["status_code"]) ?? statusIn(error?.["status"]) ?? statusIn(code);
  return {
    message: asText(inner) ?? wordsOf(error?.["message"]) ?? wordsOf(outer?.["message"]) ?? wordsOf(outer?.["detail"]),
    code: asText(code),
    type: asText(error?.["type"]),
    param: asText(error?.["param"]),
    status: claimed
  };
}
function firstOf(value) {
  return Array.isArray(value) ? value[0] : value;
}
function statusIn(value) {
  const status = asCount(value) ?? Number(asText(value));
  return status >= 400 && status < 600 ? status : void 0;
}
function wordsOf(value) {
  const isStructured = typeof value === "object" && value !== null;
  return isStructured ? JSON.stringify(value).slice(0, 500) : asText(value);
}
function judgeFailure(provider, failure, status = failure.status) {
  const reason = reasonOf2(failure, status);
  const { message: message3, code, type, param } = failure;
  const fallback = `${provider} answered ${status ?? "with an error"}`;
  const asked = reason === "rate_limited" ? askedIn(message3 ?? "") : void 0;
  return {
    reason,
    message: message3 === void 0 ? fallback : `${provider}: ${message3}`,
    ...status === 402 || [code, type].some(isQuota) ? { retryable: false } : {},
    ...asked === void 0 ? {} : { retryAfterMs: asked },
    metadata: {
      ...code === void 0 ? {} : { code },
      ...type === void 0 ? {} : { type },
      ...param === void 0 ? {} : { param }
    }
  };
}
function isQuota(word) {
  return word === "insufficient_quota" || word === "billing_hard_limit_reached";
}
var reasonByWord = {
  context_length_exceeded: "context_length_exceeded",
  exceed_context_size_error: "context_length_exceeded",
  string_above_max_length: "context_length_exceeded",
  content_filter: "content_filter",
  content_policy_violation: "content_filter",
  image_content_policy_violation: "content_filter",
  bio_policy: "content_filter",
  moderation_blocked: "content_filter",
  ResponsibleAIPolicyViolation: "content_filter",
  invalid_api_key: "authentication_failed",
  authentication_error: "authentication_failed",
  permission_error: "authentication_failed",
  rate_limit_exceeded: "rate_limited",
  rate_limit_error: "rate_limited",
  insufficient_quota: "rate_limited",
  billing_hard_limit_reached: "rate_limited",
  tokens: "rate_limited",
  requests: "rate_limited",
  server_error: "provider_unavailable",
  internal_error: "provider_unavailable",
  overloaded_error: "provider_unavailable",
  service_unavailable: "provider_unavailable",
  vector_store_timeout: "timeout",
  timeout: "timeout",
  invalid_request_error: "invalid_request",
  invalid_prompt: "invalid_request",
  model_not_found: "invalid_request"
};
var strongerThanStatus = /* @__PURE__ */ new Set([
  "context_length_exceeded",
  "content_filter"
]);
function reasonOf2(failure, status) {
  const { code = "", type = "", message: message3 = "" } = failure;
  const byWord = wordReason(code) ?? wordReason(type);
  const byText = status === void 0 || status < 500 ? textReason(message3) : void 0;
  if (byWord !== void 0 && strongerThanStatus.has(byWord)) return byWord;
  if (status === void 0) return wordReason(code) ?? byText ?? byWord ?? "unknown";
  if (status === 400 || status === 413 || status === 422) {
    return wordReason(code) === "authentication_failed" ? "authentication_failed" : byText ?? "invalid_request";
  }
  return statusReason(status);
}
function wordReason(word) {
  return Object.hasOwn(reasonByWord, word) ? reasonByWord[word] : void 0;
}
var sentences2 = [
  [
    /maximum context length|context window|context size|context length|prompt is too long|too many (?:input )?tokens/i,
    "context_length_exceeded"
  ],
  [/content management policy|content filter/i, "content_filter"],
  [/(?:incorrect|invalid) api key/i, "authentication_failed"]
];
function textReason(message3) {
  return sentences2.find(([sentence2]) => sentence2.test(message3))?.[1];
}
function statusReason(status) {
  if (status === 401 || status === 403) return "authentication_failed";
  if (status === 402 || status === 429) return "rate_limited";
  if (status === 408) return "timeout";
  if (status === 404 || status === 405 || status === 415) return "invalid_request";
  return status >= 500 ? "provider_unavailable" : "unknown";
}
function askedIn(message3) {
  const match = /try again in (?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?/i.exec(message3);
  if (match === null) return void 0;
  const [, minutes = "0", seconds = "0", ms = "0"] = match;
  const asked = Math.round(Number(minutes) * 6e4 + Number(seconds) * 1e3 + Number(ms));
  return asked > 0 ? asked : void 0;
}
function parseJson(body) {
  try {
    return JSON.parse(body);
  } catch {
    return void 0;
  }
}

// ../../src/providers/openai/openai-options.ts
var defaultBaseUrl = "https://api.openai.com/v1";
var legalKeys = {
  api: true,
  baseUrl: true,
  apiKey: true,
  headers: true,
  fetch: true,
  organization: true,
  project: true,
  provider: true
};
function settleOptions(options) {
  const { api, baseUrl = defaultBaseUrl, apiKey, organization, project, fetch } = options;
  const issues = [...unknownKeys(options, Object.keys(legalKeys))];
  if (!URL.canParse(baseUrl)) issues.push({ path: "baseUrl", problem: "is no address" });
  if (api !== void 0 && api !== "chat" && api !== "responses") {
    issues.push({ path: "api", problem: "is neither chat nor responses" });
  }
  if (issues.length > 0) throw new ValidationError("invalid_options", issues);
  const own = apiKey === "" ? void 0 : apiKey;
  return {
    provider: options.provider ?? "openai",
    api,
    baseUrl,
    official: baseUrl.replace(/\/+$/, "") === defaultBaseUrl,
    headers: {
      ...organization === void 0 ? {} : { "openai-organization": organization },
      ...project === void 0 ? {} : { "openai-project": project },
      ...lowerCased(options.headers ?? {})
    },
    fetch,
    hasKey: own !== void 0,
    ownKey: () => own
  };
}
function lowerCased(headers) {
  return Object.fromEntries(
    Object.entries(headers).map(([name2, value]) => [name2.toLowerCase(), value])
  );
}

// ../../src/collect/collect-sync.ts
function collectEventsSync(events) {
  const state = createCollector();
  for (const event of events) foldEvent(state, event);
  const response = toResponse(state);
  if (response.error !== void 0) throw failureOf(response.error, response);
  return response;
}

// ../../src/http/body-decoder.ts
function bodyDecoder(decoder, splitter) {
  const text3 = new TextDecoder();
  let seen = 0;
  let target = [];
  const onEvent = (data, event) => {
    seen++;
    if (!decoder.done) decoder.push(data, event, target);
  };
  const decode2 = (chunk) => {
    if (chunk !== void 0) {
      splitter.feed(text3.decode(chunk, { stream: true }), onEvent);
      return;
    }
    splitter.feed(text3.decode(), onEvent);
    splitter.end(onEvent);
    if (!decoder.done) decoder.end(target);
  };
  return {
    get seen() {
      return seen;
    },
    get isDocument() {
      return splitter.isDocument === true;
    },
    take(chunk, out) {
      target = out;
      try {
        decode2(chunk);
        return void 0;
      } catch (problem) {
        return { problem };
      }
    }
  };
}

// ../../src/http/hang-up.ts
var lastReadMs = 1e3;
async function letEnd(reader, guard) {
  const dog = watchdog(systemClock, () => guard.close());
  dog.feed(lastReadMs);
  try {
    for (let reads = 0; reads < 64 && !(await reader.read()).done; reads++) ;
  } catch {
  } finally {
    dog.stop();
    await hangUp(reader, guard);
  }
}
async function hangUp(reader, guard) {
  guard.close();
  await reader?.cancel().catch(() => void 0);
}

// ../../src/http/sse.ts
var maxBufferedCharacters = 32 * 1024 * 1024;
var lineFeed = 10;
var space = 32;
var colon = 58;
var byteOrderMark = 65279;
function sseSplitter(limit = maxBufferedCharacters) {
  const state = {
    limit,
    rest: "",
    data: "",
    hasData: false,
    event: void 0,
    atStart: true,
    skipLineFeed: false
  };
  return {
    feed(chunk, onEvent) {
      if (chunk !== "") splitLines(state, chunk, onEvent);
    },
    end(onEvent) {
      const { rest } = state;
      state.rest = "";
      if (rest !== "") takeLine(state, rest, 0, rest.length);
      dispatch(state, onEvent);
    }
  };
}
function splitLines(state, chunk, onEvent) {
  let from = textStart(state, chunk);
  let nextLf = chunk.indexOf("\n", from);
  let nextCr = chunk.indexOf("\r", from);
  for (; ; ) {
    const to = nextCr === -1 || nextLf !== -1 && nextLf < nextCr ? nextLf : nextCr;
    if (to === -1) break;
    if (endLine(state, chunk, from, to)) dispatch(state, onEvent);
    from = to + 1;
    if (to === nextCr) {
      if (from === chunk.length) state.skipLineFeed = true;
      else if (chunk.charCodeAt(from) === lineFeed) from++;
    }
    if (nextLf !== -1 && nextLf < from) nextLf = chunk.indexOf("\n", from);
    if (nextCr !== -1 && nextCr < from) nextCr = chunk.indexOf("\r", from);
  }
  if (from < chunk.length) state.rest += from === 0 ? chunk : chunk.slice(from);
  if (state.rest.length + state.data.length > state.limit) {
    throw new RangeError(`a server-sent event is longer than ${state.limit} characters`);
  }
}
function textStart(state, chunk) {
  const first2 = chunk.charCodeAt(0);
  const { atStart, skipLineFeed } = state;
  state.atStart = false;
  state.skipLineFeed = false;
  return atStart && first2 === byteOrderMark || skipLineFeed && first2 === lineFeed ? 1 : 0;
}
function endLine(state, chunk, from, to) {
  const { rest } = state;
  if (rest === "") {
    if (from === to) return true;
    takeLine(state, chunk, from, to);
  } else {
    state.rest = "";
    const line = rest + chunk.slice(from, to);
    takeLine(state, line, 0, line.length);
  }
  return false;
}
function takeLine(state, text3, from, to) {
  if (text3.startsWith("data", from)) {
    const value = fieldValue(text3, from + 4, to);
    if (value === void 0) return;
    state.data = state.hasData ? `${state.data}
${value}` : value;
    state.hasData = true;
  } else if (text3.startsWith("event", from)) {
    state.event = fieldValue(text3, from + 5, to) ?? state.event;
  }
}
function dispatch(state, onEvent) {
  const { data, hasData, event } = state;
  state.data = "";
  state.hasData = false;
  state.event = void 0;
  if (hasData) onEvent(data, event === "" ? void 0 : event);
}
function fieldValue(text3, at, to) {
  if (at === to) return "";
  if (text3.charCodeAt(at) !== colon) return void 0;
  return text3.slice(at + 1 < to && text3.charCodeAt(at + 1) === space ? at + 2 : at + 1, to);
}

// ../../src/http/stream-failure.ts
function unreadable(problem, call2, { sent }) {
  if (isAllmError(problem)) return problem;
  const { provider, requestId } = call2;
  const text3 = problem instanceof Error ? problem.message : String(problem);
  const message3 = `${provider} sent an event that can not be read: ${text3}`;
  if (sent === 0) {
    return new AdapterError("malformed_response", message3, { provider, requestId, cause: problem });
  }
  const eventIndex = sent;
  return new StreamError("malformed_event", message3, {
    provider,
    requestId,
    eventIndex,
    cause: problem
  });
}
function truncated2(call2, { sent }, foreign) {
  const { provider, requestId } = call2;
  if (foreign && sent === 0) {
    const message4 = `${provider} answered with a body that is neither a stream of events nor an answer`;
    return new AdapterError("malformed_response", message4, { provider, requestId });
  }
  const message3 = `the answer of ${provider} ended without its end marker`;
  return new StreamError("truncated", message3, { provider, requestId, eventIndex: sent });
}
function brokenRead(error, call2, signal2, { sent }) {
  const failure = transportFailure(error, call2, signal2);
  if (sent === 0 || isAllmError(error) || signal2.aborted || failure.kind !== "adapter") {
    return failure;
  }
  const { provider, requestId } = call2;
  const reason = failure.reason === "timeout" ? "timeout" : "truncated";
  const details = { provider, requestId, eventIndex: sent, cause: error };
  return new StreamError(reason, failure.message, details);
}

// ../../src/http/stream-sse.ts
function streamSse(source, decoder) {
  const exit = { left: false, guard: void 0 };
  const batches = readBatches(source, decoder, exit);
  const finish3 = batches.return.bind(batches);
  batches.return = (value) => {
    exit.left = true;
    if (!decoder.done) exit.guard?.close();
    return finish3(value);
  };
  return batches;
}
async function* readBatches(source, decoder, exit) {
  const call2 = typeof source === "function" ? await source() : source;
  if (exit.left) return;
  const guard = guardCall(call2);
  exit.guard = guard;
  let reader;
  let sent = 0;
  let seen = 0;
  try {
    const response = await post(call2, guard.signal);
    reader = bodyReader(response, call2, guard.signal);
    const body = bodyDecoder(decoder, call2.splitter?.(response) ?? sseSplitter());
    let hadText = false;
    while (!decoder.done) {
      const { done, value } = await reader.read();
      if (guard.signal.aborted) throw guard.signal.reason;
      hadText ||= !done;
      const out = [];
      const stopped = body.take(value, out);
      if (out.length > 0) {
        guard.handOut();
        sent += out.length;
        yield out;
      }
      if (!decoder.done && (out.length > 0 || body.seen !== seen)) guard.wait();
      seen = body.seen;
      if (stopped !== void 0) throw unreadable(stopped.problem, call2, { sent, seen });
      if (done && !decoder.done) {
        throw truncated2(call2, { sent, seen }, hadText && (seen === 0 || body.isDocument));
      }
    }
  } catch (error) {
    if (exit.left) return;
    const failure = brokenRead(error, call2, guard.signal, { sent, seen });
    if (sent === 0) throw failure;
    yield [decoder.failure(failure.toJSON())];
  } finally {
    if (decoder.done && reader !== void 0) letEnd(reader, guard).catch(() => void 0);
    else await hangUp(reader, guard);
  }
}
function bodyReader(response, call2, signal2) {
  const type = response.headers.get("content-type") ?? "";
  if (response.body !== null && !type.includes("text/html")) {
    const reader = response.body.getReader();
    const stop = () => {
      reader.cancel().catch(() => void 0);
    };
    signal2.addEventListener("abort", stop, { once: true });
    return reader;
  }
  const { provider, requestId } = call2;
  const { status } = response;
  const message3 = `${provider} answered ${status} with ${type || "no body"} instead of a stream`;
  throw new AdapterError("malformed_response", message3, { provider, requestId, status });
}

// ../../src/providers/openai/call-notes.ts
function decoderOptions(provider, options) {
  const newId = options.newId ?? randomId;
  return {
    notes: {
      provider,
      requestId: options.requestId ?? newId("request"),
      dropped: [],
      providerRequestId: void 0,
      clean: (text3) => text3
    },
    newId: () => newId("call"),
    rawChunks: options.includeRawChunks === true
  };
}

// ../../src/providers/openai/message-draft.ts
function messageDraft(notes) {
  return {
    notes,
    started: false,
    done: false,
    id: void 0,
    model: void 0,
    held: [],
    parts: [],
    calls: [],
    usage: void 0,
    refusal: "",
    metadata: {},
    lists: {}
  };
}
function noteHead(draft, head) {
  draft.id ??= asText(head.id);
  draft.model ??= asText(head.model);
}
function noteList(draft, name2, items) {
  const added = asList(items);
  if (added.length === 0) return;
  const known2 = draft.lists[name2] ??= [];
  for (const item of added) known2.push(item);
}
function reportedError(draft, value) {
  const { provider, requestId, providerRequestId, clean } = draft.notes;
  const reported = readFailure(value);
  const { reason, message: message3, metadata: metadata2, ...rest } = judgeFailure(provider, reported);
  return new AdapterError(reason, clean(message3), {
    provider,
    requestId,
    status: reported.status,
    ...rest,
    metadata: {
      ...cleanMembers(metadata2 ?? {}, clean),
      ...providerRequestId === void 0 ? {} : { providerRequestId }
    }
  });
}

// ../../src/providers/openai/parse-usage.ts
var inputNames = ["prompt_tokens", "input_tokens"];
var outputNames = ["completion_tokens", "output_tokens"];
var inputDetails = ["prompt_tokens_details", "input_tokens_details"];
var outputDetails = ["completion_tokens_details", "output_tokens_details"];
var lifted = /* @__PURE__ */ new Set([
  ...inputNames,
  ...outputNames,
  "total_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "reasoning_tokens"
]);
function parseUsage(wire) {
  const input = asObject(first(wire, inputDetails));
  const output = asObject(first(wire, outputDetails));
  const inputTokens = asCount(first(wire, inputNames));
  const reasoningTokens = asCount(output?.["reasoning_tokens"]);
  const totalTokens = asCount(wire["total_tokens"]);
  let outputTokens = asCount(first(wire, outputNames));
  if (outputTokens !== void 0 && reasoningTokens !== void 0 && reasoningTokens > 0 && totalTokens === (inputTokens ?? 0) + outputTokens + reasoningTokens) {
    outputTokens += reasoningTokens;
  }
  return defined({
    inputTokens,
    outputTokens,
    totalTokens,
    cachedInputTokens: asCount(input?.["cached_tokens"] ?? wire["prompt_cache_hit_tokens"]),
    cacheWriteInputTokens: asCount(input?.["cache_write_tokens"]),
    reasoningTokens,
    extra: remainder(wire)
  });
}
function first(wire, names) {
  for (const name2 of names) if (wire[name2] !== void 0 && wire[name2] !== null) return wire[name2];
  return void 0;
}
function remainder(wire) {
  const rest = {};
  for (const [name2, value] of Object.entries(wire)) {
    if (lifted.has(name2) || value === null) continue;
    const details = asObject(value);
    const kept = details === void 0 ? value : remainder(details);
    if (kept !== void 0) rest[name2] = kept;
  }
  return Object.keys(rest).length === 0 ? void 0 : rest;
}

// ../../src/providers/openai/message-events.ts
function begin(draft, out) {
  if (draft.started) return;
  draft.started = true;
  const { id, model: model2 } = draft;
  const { requestId, provider } = draft.notes;
  out.push(defined({ type: "message_started", requestId, provider, id, model: model2 }));
  for (const chunk of draft.held) out.push({ type: "raw_chunk", chunk });
  draft.held = [];
}
function passRaw(draft, chunk, out) {
  if (draft.started) out.push({ type: "raw_chunk", chunk });
  else draft.held.push(chunk);
}
function addImage2(draft, image2, out) {
  begin(draft, out);
  draft.parts.push({ type: "image", image: image2 });
  out.push({ type: "image_completed", image: image2 });
}
function complete(draft, end2, out) {
  begin(draft, out);
  draft.done = true;
  const { parts: parts2, calls, usage, refusal: refusal3, notes } = draft;
  const metadata2 = defined({
    ...draft.metadata,
    ...draft.lists,
    refusal: asText(refusal3),
    droppedParameters: notes.dropped.length === 0 ? void 0 : notes.dropped,
    providerRequestId: notes.providerRequestId
  });
  const { finishReason: finishReason2, rawFinishReason } = end2;
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(parts2.filter(saysSomething), calls),
      finishReason: refusal3 !== "" && finishReason2 === "stop" ? "content_filter" : finishReason2,
      rawFinishReason,
      usage: usage === void 0 ? void 0 : parseUsage(usage),
      metadata: Object.keys(metadata2).length === 0 ? void 0 : metadata2
    })
  );
}
function saysSomething(part2) {
  if (part2.type === "image" || part2.text !== "") return true;
  return part2.type === "reasoning" && part2.opaque !== void 0;
}

// ../../src/providers/openai/chat/chat-extras.ts
var common = /* @__PURE__ */ new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "usage",
  "obfuscation",
  "p",
  "index",
  "delta",
  "message",
  "finish_reason",
  "logprobs"
]);
function noteExtras(draft, chunk, choice) {
  for (const members2 of [chunk, choice ?? {}]) {
    for (const [name2, value] of Object.entries(members2)) {
      if (!common.has(name2) && value !== null && value !== "") draft.metadata[name2] = value;
    }
  }
}
var audioGrows = /* @__PURE__ */ new Set(["data", "transcript"]);
function noteAudio(draft, audio) {
  const known2 = { ...asObject(draft.metadata["audio"]) };
  for (const [name2, value] of Object.entries(asObject(audio) ?? {})) {
    const before = known2[name2];
    known2[name2] = audioGrows.has(name2) && typeof before === "string" && typeof value === "string" ? before + value : value;
  }
  draft.metadata["audio"] = known2;
}
function usageInExtras(draft) {
  return asObject(asObject(draft.metadata["x_groq"])?.["usage"]);
}

// ../../src/providers/openai/parse-image.ts
function parseImage(value) {
  const given = asObject(value)?.["image_url"];
  const url2 = asText(given) ?? asText(asObject(given)?.["url"]);
  if (url2 === void 0) return void 0;
  const inline = /^data:([^;,]+);base64,/.exec(url2);
  const [lead = "", mimeType = ""] = inline ?? [];
  return inline === null ? { type: "url", url: url2 } : { type: "base64", base64: url2.slice(lead.length), mimeType };
}

// ../../src/providers/openai/chat/reasoning-details.ts
var grows = /* @__PURE__ */ new Set(["text", "summary", "data"]);
function mergeDetails(known2, pieces) {
  const merged2 = [...known2];
  for (const value of pieces) {
    const piece = asObject(value);
    if (piece === void 0) continue;
    const last = merged2.at(-1);
    const continues = last !== void 0 && piece["index"] !== void 0 && last["type"] === piece["type"] && last["index"] === piece["index"];
    if (continues) merged2[merged2.length - 1] = grow(last, piece);
    else merged2.push(piece);
  }
  return merged2;
}
function grow(known2, piece) {
  const result = { ...known2 };
  for (const [name2, value] of Object.entries(piece)) {
    const before = known2[name2];
    if (typeof before === "string" && typeof value === "string" && grows.has(name2)) {
      result[name2] = before + value;
    } else if (value !== null) {
      result[name2] = value;
    }
  }
  return result;
}
function detailText(detail) {
  const text3 = detail["text"] ?? detail["summary"];
  return typeof text3 === "string" ? text3 : "";
}

// ../../src/providers/openai/chat/text-blocks.ts
function textBlocks(draft) {
  let open;
  let grown = "";
  let slot = 0;
  const turnTo = (kind, out) => {
    begin(draft, out);
    end2(out);
    open = kind;
    grown = "";
    slot = draft.parts.push({ type: kind, text: "" }) - 1;
  };
  const end2 = (out) => {
    if (open === "text") {
      draft.parts[slot] = { type: "text", text: grown };
      out.push({ type: "text_completed", text: grown });
    } else if (open === "reasoning") {
      const { opaque } = blocks;
      const { provider } = draft.notes;
      draft.parts[slot] = defined({
        type: "reasoning",
        text: grown,
        opaque,
        provider
      });
      out.push(defined({ type: "reasoning_completed", text: grown, opaque }));
      blocks.opaque = void 0;
    }
    open = void 0;
  };
  const blocks = {
    opaque: void 0,
    text(delta, out) {
      if (open !== "text") turnTo("text", out);
      grown += delta;
      out.push({ type: "text_delta", delta });
    },
    reasoning(delta, out) {
      if (open !== "reasoning") turnTo("reasoning", out);
      if (delta === "") return;
      grown += delta;
      out.push({ type: "reasoning_delta", delta });
    },
    endReasoning(out) {
      if (open === "reasoning") end2(out);
    },
    end: end2
  };
  return blocks;
}

// ../../src/providers/openai/parse-arguments.ts
function parseArguments(raw) {
  if (raw.trim() === "") return { arguments: {} };
  return { arguments: parseObject(raw) ?? {}, rawArguments: raw };
}
function parseObject(raw) {
  try {
    return asObject(JSON.parse(raw));
  } catch {
    return void 0;
  }
}

// ../../src/providers/openai/chat/tool-fragments.ts
function toolFragments(draft, newId) {
  const open = { draft, newId, calls: [], started: [], byIndex: /* @__PURE__ */ new Map() };
  return {
    take: (fragment, position, out) => takeFragment(open, fragment, position, out),
    end(out) {
      for (const call2 of open.calls) if (!call2.started) start2(open, call2, out);
      for (const { id, name: name2, raw, opaque } of open.started) {
        const call2 = defined({ id, name: name2, ...parseArguments(raw), opaque });
        draft.calls.push(call2);
        out.push({ type: "tool_call_completed", call: call2 });
      }
    }
  };
}
function takeFragment(open, fragment, position, out) {
  const made = asObject(fragment["function"]);
  const id = asText(fragment["id"]);
  const name2 = asText(made?.["name"]);
  const call2 = findCall(open, id, name2, asCount(fragment["index"]) ?? position);
  const piece = argumentsText(made?.["arguments"]);
  call2.wireId ??= id;
  if (call2.name === "") call2.name = name2 ?? "";
  const extra = fragment["extra_content"];
  if (extra) call2.opaque = { extra_content: extra };
  call2.raw += piece;
  if (!call2.started) {
    if (call2.wireId !== void 0 && call2.name !== "") start2(open, call2, out);
  } else if (piece !== "") {
    out.push({ type: "tool_call_delta", id: call2.id, argumentsDelta: piece });
  }
}
function findCall(open, id, name2, index) {
  if (index !== void 0) {
    const known2 = open.byIndex.get(index);
    if (known2 !== void 0 && !(name2 !== void 0 && isAnother(known2, id))) return known2;
    const call2 = addCall(open);
    open.byIndex.set(index, call2);
    return call2;
  }
  const last = open.calls.at(-1);
  const same = id === void 0 ? last : open.calls.find((call2) => call2.wireId === id);
  const begins = id === void 0 && name2 !== void 0 && last?.raw !== "";
  return same === void 0 || begins ? addCall(open) : same;
}
function isAnother({ wireId: wireId2, raw }, id) {
  if (id !== void 0) return wireId2 !== void 0 && wireId2 !== id;
  return wireId2 === void 0 && Object.keys(parseArguments(raw).arguments).length > 0;
}
function addCall(open) {
  const call2 = {
    wireId: void 0,
    id: "",
    name: "",
    raw: "",
    started: false,
    opaque: void 0
  };
  open.calls.push(call2);
  return call2;
}
function start2({ draft, newId, started }, call2, out) {
  begin(draft, out);
  call2.started = true;
  const { wireId: wireId2 } = call2;
  const taken = wireId2 === void 0 || started.some((other) => other.id === wireId2);
  call2.id = taken ? newId() : wireId2;
  started.push(call2);
  out.push({ type: "tool_call_started", id: call2.id, name: call2.name });
  if (call2.raw !== "") {
    out.push({ type: "tool_call_delta", id: call2.id, argumentsDelta: call2.raw });
  }
}
function argumentsText(value) {
  if (typeof value === "string") return value;
  return value === void 0 || value === null ? "" : JSON.stringify(value);
}

// ../../src/providers/openai/chat/delta-reader.ts
function deltaReader(draft, newId) {
  const answer2 = {
    draft,
    blocks: textBlocks(draft),
    tools: toolFragments(draft, newId),
    details: []
  };
  return {
    take: (delta, whole, out) => takeDelta(answer2, delta, whole, out),
    end(out) {
      answer2.blocks.end(out);
      answer2.tools.end(out);
    }
  };
}
function takeDelta(answer2, delta, whole, out) {
  const { draft, blocks } = answer2;
  const content2 = delta["content"];
  const thought = reasoningField(delta);
  if (thought !== void 0) takeReasoning(answer2, delta, thought, out);
  if (typeof content2 === "string") {
    if (content2 !== "") blocks.text(content2, out);
  } else if (content2) {
    for (const part2 of asList(content2)) takePart(answer2, asObject(part2) ?? {}, out);
  }
  if (delta["refusal"]) takeRefusal(answer2, delta["refusal"], out);
  if (delta["tool_calls"] || delta["function_call"]) takeTools(answer2, delta, whole, out);
  if (delta["images"]) for (const image2 of asList(delta["images"])) takeImage(answer2, image2, out);
  if (delta["annotations"]) noteList(draft, "annotations", delta["annotations"]);
  if (delta["audio"]) noteAudio(draft, delta["audio"]);
}
var reasoningFields = [
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "thinking",
  "reasoning_details"
];
function reasoningField(delta) {
  for (const name2 of reasoningFields) if (delta[name2]) return name2;
  return void 0;
}
function takeReasoning(answer2, delta, field, out) {
  const { blocks } = answer2;
  const text3 = delta[field];
  const pieces = asList(delta["reasoning_details"]);
  if (typeof text3 === "string" && text3 !== "") {
    blocks.reasoning(text3, out);
    blocks.opaque ??= { field };
  } else {
    for (const piece of pieces) blocks.reasoning(detailText(asObject(piece) ?? {}), out);
  }
  if (pieces.length === 0) return;
  const begun = asObject(blocks.opaque)?.["reasoning_details"] === void 0;
  answer2.details = mergeDetails(begun ? [] : answer2.details, pieces);
  blocks.opaque = { reasoning_details: answer2.details };
}
function takePart(answer2, part2, out) {
  const { blocks } = answer2;
  const { thinking } = part2;
  for (const thought of typeof thinking === "string" ? [thinking] : asList(thinking)) {
    const said2 = asText(thought) ?? asText(asObject(thought)?.["text"]);
    if (said2 !== void 0) blocks.reasoning(said2, out);
  }
  const text3 = asText(part2["text"]);
  if (text3 !== void 0) blocks.text(text3, out);
  else takeImage(answer2, part2, out);
}
function takeImage({ draft }, value, out) {
  const image2 = parseImage(value);
  if (image2 !== void 0) addImage2(draft, image2, out);
}
function takeRefusal({ draft, blocks }, refusal3, out) {
  if (typeof refusal3 !== "string") return;
  draft.refusal += refusal3;
  blocks.text(refusal3, out);
}
function takeTools(answer2, delta, whole, out) {
  const { blocks, tools: tools3 } = answer2;
  const fragments = asList(delta["tool_calls"]);
  if (fragments.length > 0) blocks.endReasoning(out);
  fragments.forEach((value, position) => {
    const fragment = asObject(value);
    if (fragment !== void 0) tools3.take(fragment, whole ? position : void 0, out);
  });
  if (delta["function_call"]) tools3.take({ function: delta["function_call"] }, 0, out);
}

// ../../src/providers/openai/chat/finish-reason.ts
var known = {
  stop: "stop",
  eos: "stop",
  end_turn: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "content_filter",
  error: "error"
};
function chatFinishReason(word, hasCalls) {
  if (word === void 0) return hasCalls ? "tool_calls" : "other";
  return (Object.hasOwn(known, word) ? known[word] : void 0) ?? "other";
}

// ../../src/providers/openai/chat/chat-decoder.ts
function chatDecoder({ notes, newId, rawChunks }) {
  const draft = messageDraft(notes);
  const reader = deltaReader(draft, newId);
  let finishWord;
  const finish3 = (out) => {
    reader.end(out);
    draft.usage ??= usageInExtras(draft);
    const finishReason2 = chatFinishReason(finishWord, draft.calls.length > 0);
    complete(draft, { finishReason: finishReason2, rawFinishReason: finishWord }, out);
  };
  const takeChoice = (choice, chunk, out) => {
    const streamed = asObject(choice["delta"]);
    const whole = isWhole(streamed, choice, draft) ? asObject(choice["message"]) : void 0;
    const delta = whole ?? streamed;
    if (delta !== void 0) reader.take(delta, whole !== void 0, out);
    if (choice["logprobs"]) noteList(draft, "logprobs", asObject(choice["logprobs"])?.["content"]);
    if (choice["finish_reason"]) {
      if (choice["error"]) throw reportedError(draft, choice);
      finishWord = asText(choice["finish_reason"]) ?? finishWord;
      noteExtras(draft, chunk, choice);
    }
    if (whole !== void 0) finish3(out);
  };
  return {
    get done() {
      return draft.done;
    },
    push(data, event, out) {
      if (data === "[DONE]") {
        finish3(out);
        return;
      }
      if (data === "") return;
      const chunk = chunkObject(JSON.parse(data));
      if (rawChunks) passRaw(draft, chunk, out);
      if (isError(chunk, event)) throw reportedError(draft, chunk);
      if (draft.id === void 0) noteHead(draft, chunk);
      if (chunk["usage"]) draft.usage = asObject(chunk["usage"]);
      const choice = firstChoice(chunk["choices"]);
      if (choice === void 0) noteExtras(draft, chunk, void 0);
      else takeChoice(choice, chunk, out);
    },
    end(out) {
      if (finishWord !== void 0) finish3(out);
    },
    failure: (error) => ({ type: "error", error })
  };
}
function isWhole(delta, choice, { started }) {
  if (delta === void 0) return true;
  if (started || !choice["finish_reason"]) return false;
  return Object.entries(delta).every(
    ([name2, value]) => name2 === "role" || !value || Array.isArray(value) && value.length === 0
  );
}
function isError(chunk, event) {
  return Boolean(chunk["error"]) || event === "error" || chunk["object"] === "error";
}
function firstChoice(choices) {
  for (const item of asList(choices)) {
    const choice = asObject(item);
    if (choice !== void 0 && !choice["index"]) return choice;
  }
  return void 0;
}

// ../../src/http/whole-body.ts
function wholeBody(limit = maxBufferedCharacters) {
  let text3 = "";
  return {
    isDocument: true,
    feed(chunk) {
      text3 += chunk;
      if (text3.length > limit) throw new RangeError(`the body is longer than ${limit} characters`);
    },
    end(onEvent) {
      if (text3.trim() !== "") onEvent(text3, void 0);
      text3 = "";
    }
  };
}

// ../../src/http/sniffed-body.ts
function sniffedBody() {
  let chosen;
  return {
    get isDocument() {
      return chosen?.isDocument === true;
    },
    feed(chunk, onEvent) {
      const start4 = chunk.trimStart();
      if (chosen === void 0 && start4 === "") return;
      chosen ??= start4.startsWith("{") || start4.startsWith("[") ? wholeBody() : sseSplitter();
      chosen.feed(chunk, onEvent);
    },
    end(onEvent) {
      chosen?.end(onEvent);
    }
  };
}

// ../../src/vision/resolve-image.ts
async function resolveImage(image2, limits, readFile) {
  switch (image2.type) {
    case "base64": {
      const type = checkInlineImage(image2, limits);
      if (type.problem !== void 0) return type;
      return {
        image: type.mimeType === image2.mimeType ? image2 : { ...image2, mimeType: type.mimeType }
      };
    }
    case "url":
      return isWebAddress(image2.url) ? { image: image2 } : { problem: "has an address that is not http or https" };
    case "file": {
      const file = await readFileImage(image2, limits, readFile);
      if (file.problem !== void 0) return file;
      const { path: _path, ...facts2 } = image2;
      const { bytes, mimeType } = file;
      return { image: { ...facts2, type: "base64", base64: bytesToBase64(bytes), mimeType } };
    }
    default:
      return assertNever(image2);
  }
}
function isWebAddress(address) {
  if (!URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === "https:" || protocol === "http:";
}

// ../../src/vision/resolve-images.ts
function hasImages(request2) {
  for (const { content: content2 } of request2.messages) {
    if (typeof content2 === "string") continue;
    for (const part2 of content2) if (part2.type === "image") return true;
  }
  return false;
}
async function resolveImages(request2, limits, readFile = readImageFile) {
  const issues = [];
  let messages2;
  for (const [index, message3] of request2.messages.entries()) {
    if (typeof message3.content === "string") continue;
    const check = { limits, readFile, issues, path: `messages[${index}].content` };
    const content2 = await resolveParts(message3.content, message3.role === "system", check);
    if (content2 === message3.content) continue;
    messages2 ??= [...request2.messages];
    messages2[index] = { ...message3, content: content2 };
  }
  if (issues.length > 0) throw new ValidationError("invalid_request", issues);
  return messages2 === void 0 ? request2 : { ...request2, messages: messages2 };
}
async function resolveParts(parts2, inSystem, { limits, readFile, issues, path }) {
  let resolved;
  for (const [index, part2] of parts2.entries()) {
    if (part2.type !== "image") continue;
    const outcome = inSystem ? { problem: "is an image, and a system message holds text only" } : await resolveImage(part2.image, limits, readFile);
    if (outcome.problem !== void 0) {
      issues.push({ path: `${path}[${index}]`, problem: outcome.problem });
    } else if (outcome.image !== part2.image) {
      resolved ??= [...parts2];
      resolved[index] = { ...part2, image: outcome.image };
    }
  }
  return resolved ?? parts2;
}

// ../../src/providers/openai/model-family.ts
var effortScale = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
var unknownFamily = {
  endpoint: "chat",
  reasons: false,
  refusesTemperature: "never",
  thinksByDefault: false,
  maxTokensField: "max_tokens"
};
var plain = { ...unknownFamily, efforts: [] };
var plainNewer = { ...plain, maxTokensField: "max_completion_tokens" };
var thinker = {
  endpoint: "responses",
  reasons: true,
  efforts: ["low", "medium", "high"],
  refusesTemperature: "always",
  thinksByDefault: true,
  maxTokensField: "max_completion_tokens"
};
var optional = { ...thinker, refusesTemperature: "thinking" };
var families = [
  // Azure writes 3.5 without the point.
  [/^gpt-35-/i, plain],
  [/^gpt-5(\.\d+)?-search-api/i, { ...plainNewer, refusesTemperature: "always" }],
  [/^gpt-4o(-mini)?-search-preview/i, { ...plainNewer, refusesTemperature: "always" }],
  [/^gpt-5-chat/i, { ...plainNewer, endpoint: "responses" }],
  [/^gpt-5\.\d+-chat/i, { ...thinker, efforts: ["medium"] }],
  [/^gpt-5-pro/i, { ...thinker, efforts: ["high"] }],
  [/^gpt-5\.[2-5]-pro/i, { ...thinker, efforts: ["medium", "high", "xhigh"] }],
  [/^gpt-5(\.1)?-codex-max/i, { ...thinker, efforts: ["low", "medium", "high", "xhigh"] }],
  [/^gpt-5(\.1)?-codex/i, thinker],
  [/^gpt-5\.\d+-codex/i, { ...thinker, efforts: ["low", "medium", "high", "xhigh"] }],
  [/^gpt-5(?![.\d])/i, { ...thinker, efforts: ["minimal", "low", "medium", "high"] }],
  [
    /^gpt-5\.1(?!\d)/i,
    { ...optional, efforts: ["none", "low", "medium", "high"], thinksByDefault: false }
  ],
  [
    /^gpt-5\.[2-4](?!\d)/i,
    { ...optional, efforts: ["none", "low", "medium", "high", "xhigh"], thinksByDefault: false }
  ],
  [/^gpt-5\.5(?!\d)/i, { ...optional, efforts: ["none", "low", "medium", "high", "xhigh"] }],
  [
    /^gpt-6-astra|^gpt-6\.1-sol/i,
    { ...thinker, efforts: ["low", "medium", "high", "xhigh", "max"] }
  ],
  [
    /^gpt-(5\.\d+|[6-9]|[1-9]\d)(?!\d)/i,
    { ...optional, efforts: ["none", "low", "medium", "high", "xhigh", "max"] }
  ],
  [/^o[1-9]/, thinker],
  [/^codex-|^computer-use/i, thinker],
  [/^(gpt-4o|gpt-4\.1|chatgpt-)/i, plainNewer],
  [/^gpt-(4|3\.5)/i, plain]
];
function modelFamily(model2) {
  return families.find(([name2]) => name2.test(model2))?.[1] ?? unknownFamily;
}
function wireEffort(effort, family) {
  const { efforts: efforts3 } = family;
  if (efforts3 === void 0) return effort;
  const wanted = effortScale.indexOf(effort);
  let best;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of efforts3) {
    const distance = Math.abs(effortScale.indexOf(candidate) - wanted);
    if (distance <= least) [best, least] = [candidate, distance];
  }
  return best;
}
function refusesTemperature(family, effort) {
  if (family.refusesTemperature !== "thinking") return family.refusesTemperature === "always";
  return effort === void 0 ? family.thinksByDefault : effort !== "none";
}

// ../../src/providers/openai/strict-schema.ts
function strictSchema(schema) {
  const kept = {};
  const moved = [];
  for (const [key, value] of Object.entries(schema)) {
    const rule = ruleFor(key, value);
    if (rule === "dropped") continue;
    if (rule === "moved") {
      moved.push(`${key}: ${JSON.stringify(value)}`);
      continue;
    }
    const strict = strictValue(rule, value);
    if (strict === void 0) return void 0;
    kept[key === "oneOf" ? "anyOf" : key] = strict;
  }
  if (moved.length > 0) {
    const { description } = schema;
    const lead = typeof description === "string" ? `${description}

` : "";
    kept["description"] = `${lead}{${moved.join(", ")}}`;
  }
  if (!isObjectSchema(schema)) return kept;
  const anything = schema["properties"] === void 0 && schema["additionalProperties"] !== false;
  return anything ? void 0 : closed(kept);
}
var rules = new Map([
  ...words("kept", "$ref type title description enum const required pattern"),
  ...words(
    "kept",
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems"
  ),
  ...words("moved", "default examples minLength maxLength uniqueItems contentEncoding"),
  ...words("dropped", "$schema $id $comment deprecated readOnly writeOnly"),
  ...words("schema", "items"),
  ...words("schemas", "anyOf oneOf"),
  ...words("members", "properties $defs definitions")
]);
function words(rule, list) {
  return list.split(" ").map((word) => [word, rule]);
}
var formats = new Set(
  "date-time time date duration email hostname ipv4 ipv6 uuid".split(" ")
);
function ruleFor(key, value) {
  if (key === "format") return formats.has(value) ? "kept" : "moved";
  if (key === "additionalProperties") return value === false ? "dropped" : "refused";
  return rules.get(key) ?? "refused";
}
function strictValue(rule, value) {
  switch (rule) {
    case "kept":
      return value;
    case "schema":
      return strictItem(value);
    case "schemas":
      return allOrNothing(asList(value).map(strictItem));
    case "members":
      return strictMembers(asObject(value) ?? {});
    case "refused":
      return void 0;
    default:
      return assertNever(rule);
  }
}
function strictItem(value) {
  const schema = asObject(value);
  return schema === void 0 ? void 0 : strictSchema(schema);
}
function strictMembers(members2) {
  const values = allOrNothing(Object.values(members2).map(strictItem));
  if (values === void 0) return void 0;
  return Object.fromEntries(Object.keys(members2).map((name2, at) => [name2, values[at] ?? {}]));
}
function allOrNothing(values) {
  const present = values.filter((value) => value !== void 0);
  return present.length === values.length ? present : void 0;
}
function isObjectSchema(schema) {
  const { type, properties } = schema;
  return type === "object" || asList(type).includes("object") || properties !== void 0;
}
function closed(schema) {
  const properties = asObject(schema["properties"]) ?? {};
  const required = asList(schema["required"]);
  if (Object.keys(properties).some((name2) => !required.includes(name2))) return void 0;
  return { ...schema, properties, required, additionalProperties: false };
}

// ../../src/providers/openai/render-schemas.ts
function renderSchemas({ tools: tools3, responseFormat: responseFormat2 }) {
  const dropped2 = [];
  const enforce = (schema, strict, place) => {
    const enforced = strict === true ? strictSchema(schema) : void 0;
    if (strict === true && enforced === void 0) dropped2.push(place);
    return { schema: enforced ?? schema, strict: strict === true ? enforced !== void 0 : strict };
  };
  const renderTool4 = (tool2) => {
    const { schema, strict } = enforce(tool2.schema, tool2.strict, `tools.${tool2.name}.strict`);
    return defined({
      name: tool2.name,
      description: tool2.description === "" ? void 0 : tool2.description,
      parameters: schema,
      strict
    });
  };
  const renderFormat3 = (format) => {
    if (format.type === "text") return void 0;
    if (format.type === "json_object") return { type: "json_object" };
    const { schema, strict } = enforce(format.schema, format.strict, "responseFormat.strict");
    return { type: "json_schema", name: format.name, schema, strict: strict === true };
  };
  return {
    tools: tools3.map(renderTool4),
    format: responseFormat2 === void 0 ? void 0 : renderFormat3(responseFormat2),
    dropped: dropped2
  };
}

// ../../src/providers/openai/render-options.ts
function sharedParameters(request2, { family, sessionId }) {
  const { reasoning, temperature } = request2;
  const effort = reasoning === void 0 ? void 0 : wireEffort(reasoning.effort, family);
  const refused2 = temperature !== void 0 && refusesTemperature(family, effort);
  const silent = reasoning !== void 0 && reasoning.effort !== "none" && effort === void 0;
  const schemas = renderSchemas(request2);
  return {
    ...schemas,
    temperature: refused2 ? void 0 : temperature,
    effort,
    cache: cacheParameters(request2.promptCache, sessionId),
    dropped: [
      ...refused2 ? ["temperature"] : [],
      ...silent ? ["reasoning"] : [],
      ...schemas.dropped
    ]
  };
}
function cacheParameters(cache, sessionId) {
  if (cache === void 0) return {};
  const { key = sessionId, retention } = cache === true ? {} : cache;
  return {
    ...key === void 0 ? {} : { prompt_cache_key: key },
    ...retention === "long" ? { prompt_cache_retention: "24h" } : {}
  };
}

// ../../src/providers/openai/render-content.ts
function partsOf2(message3) {
  const { content: content2 } = message3;
  return typeof content2 === "string" ? [{ type: "text", text: content2 }] : content2;
}
function textAlone(message3, provider) {
  if (partsOf2(message3).some((part2) => part2.type === "image")) {
    const problem = 'Chat Completions takes no images in tool results; api: "responses" does';
    throw new AdapterError("unsupported_feature", problem, { provider });
  }
  return messageText(message3);
}
function imageAddress(image2, provider) {
  switch (image2.type) {
    case "url":
      return image2.url;
    case "base64":
      return `data:${image2.mimeType};base64,${image2.base64}`;
    case "file":
      throw new AdapterError("unsupported_feature", `the image ${image2.path} was not read`, {
        provider
      });
    default:
      return assertNever(image2);
  }
}
function argumentsJson(call2) {
  const { rawArguments, arguments: decoded } = call2;
  const usable = rawArguments !== void 0 && Object.keys(decoded).length > 0;
  return usable ? rawArguments : JSON.stringify(decoded);
}

// ../../src/providers/openai/tool-ids.ts
var longest = 40;
function toolIds() {
  const used = /* @__PURE__ */ new Set();
  const latest = /* @__PURE__ */ new Map();
  return {
    call(id) {
      const base = shortened(id);
      let unique = base;
      for (let count4 = 2; used.has(unique); count4++) unique = `${base.slice(0, 32)}_${count4}`;
      used.add(unique);
      latest.set(id, unique);
      return unique;
    },
    result: (id = "") => latest.get(id) ?? shortened(id)
  };
}
function shortened(id) {
  return id === "" ? "call" : id.slice(0, longest);
}

// ../../src/providers/openai/chat/render-messages.ts
function renderChatMessages(messages2, options) {
  const ids = toolIds();
  return messages2.map((message3) => renderMessage(message3, options, ids));
}
function renderMessage(message3, options, ids) {
  const { role, name: name2 } = message3;
  switch (role) {
    case "system":
      return defined({
        role: options.family.reasons ? "developer" : "system",
        content: messageText(message3),
        name: name2
      });
    case "user":
      return defined({ role, content: renderUserContent(message3, options), name: name2 });
    case "assistant":
      return renderAssistant(message3, options, ids);
    case "tool":
      return renderToolResult(message3, options, ids);
    default:
      return assertNever(role);
  }
}
function renderUserContent(message3, { provider }) {
  const parts2 = partsOf2(message3).filter((part2) => part2.type !== "reasoning");
  const [only] = parts2;
  if (parts2.length === 1 && only?.type === "text") return only.text;
  return parts2.map(
    (part2) => part2.type === "text" ? { type: "text", text: part2.text } : {
      type: "image_url",
      image_url: defined({
        url: imageAddress(part2.image, provider),
        detail: part2.detail
      })
    }
  );
}
function renderAssistant(message3, { provider }, ids) {
  const calls = message3.toolCalls ?? [];
  const parts2 = partsOf2(message3);
  const text3 = messageText(message3);
  const onlyImages = text3 === "" && parts2.some((part2) => part2.type === "image");
  return defined({
    role: "assistant",
    content: onlyImages ? "[image]" : text3 === "" && calls.length > 0 ? null : text3,
    name: message3.name,
    tool_calls: calls.length === 0 ? void 0 : calls.map((call2) => renderCall(call2, ids)),
    ...calls.length === 0 ? {} : echoReasoning(parts2, provider)
  });
}
function echoReasoning(parts2, provider) {
  const echo = {};
  for (const part2 of parts2) {
    if (part2.type !== "reasoning" || part2.provider !== provider) continue;
    const opaque = asObject(part2.opaque);
    const field = opaque?.["field"];
    if (field === "reasoning_content" || field === "reasoning") {
      const before = echo[field];
      echo[field] = typeof before === "string" ? `${before}

${part2.text}` : part2.text;
    }
    const details = asList(opaque?.["reasoning_details"]);
    if (details.length > 0) {
      echo["reasoning_details"] = [...asList(echo["reasoning_details"]), ...details];
    }
  }
  return echo;
}
function renderCall(call2, ids) {
  return defined({
    id: ids.call(call2.id),
    type: "function",
    function: { name: call2.name, arguments: argumentsJson(call2) },
    extra_content: asObject(call2.opaque)?.["extra_content"]
  });
}
function renderToolResult(message3, { provider }, ids) {
  const content2 = textAlone(message3, provider);
  return { role: "tool", tool_call_id: ids.result(message3.toolCallId), content: content2 };
}

// ../../src/providers/openai/chat/render-chat.ts
function renderChat(request2, options) {
  const { temperature, effort, cache, tools: tools3, format, dropped: dropped2 } = sharedParameters(request2, options);
  const { toolChoice } = request2;
  const { family, stream } = options;
  const body = defined({
    model: request2.model,
    messages: renderChatMessages(request2.messages, options),
    temperature,
    [family.maxTokensField]: request2.maxTokens,
    tools: tools3.length === 0 ? void 0 : tools3.map(renderTool),
    tool_choice: tools3.length === 0 || toolChoice === void 0 ? void 0 : renderChoice(toolChoice),
    response_format: format === void 0 ? void 0 : renderFormat(format),
    reasoning_effort: effort,
    ...cache,
    ...stream ? { stream, stream_options: { include_usage: true } } : {}
  });
  const unheard = request2.reasoning?.summary === true && !dropped2.includes("reasoning");
  return {
    path: "/chat/completions",
    body,
    dropped: unheard ? [...dropped2, "reasoning.summary"] : dropped2
  };
}
function renderTool({ strict, ...tool2 }) {
  return { type: "function", function: strict === true ? { ...tool2, strict } : tool2 };
}
function renderChoice(choice) {
  return choice === "auto" || choice === "none" || choice === "required" ? choice : { type: "function", function: { name: choice } };
}
function renderFormat({ type = "", ...format }) {
  return type === "json_schema" ? { type, json_schema: format } : { type };
}

// ../../src/providers/openai/responses/render-input.ts
function renderInput(messages2, options) {
  const ids = toolIds();
  return messages2.flatMap((message3) => renderMessage2(message3, options, ids));
}
function renderMessage2(message3, options, ids) {
  const { role } = message3;
  switch (role) {
    case "system":
      return [
        { role: options.family.reasons ? "developer" : "system", content: messageText(message3) }
      ];
    case "user":
      return [{ role, content: renderContent(message3, options) }];
    case "assistant":
      return renderAssistant2(message3, options, ids);
    case "tool":
      return [
        {
          type: "function_call_output",
          call_id: ids.result(message3.toolCallId),
          output: renderContent(message3, options)
        }
      ];
    default:
      return assertNever(role);
  }
}
function renderContent(message3, { provider }) {
  const parts2 = partsOf2(message3).filter((part2) => part2.type !== "reasoning");
  const [only] = parts2;
  if (parts2.length === 0) return "";
  if (parts2.length === 1 && only?.type === "text") return only.text;
  return parts2.map(
    (part2) => part2.type === "text" ? { type: "input_text", text: part2.text } : {
      type: "input_image",
      image_url: imageAddress(part2.image, provider),
      detail: part2.detail ?? "auto"
    }
  );
}
function renderAssistant2(message3, options, ids) {
  const calls = (message3.toolCalls ?? []).map((call2) => renderCall2(call2, ids));
  const items = [];
  let rendered = 0;
  for (const part2 of partsOf2(message3)) {
    const before = part2.type === "reasoning" ? asObject(part2.opaque)?.["calls_before"] : void 0;
    const due = Math.max(rendered, asCount(before) ?? 0);
    items.push(...calls.slice(rendered, due));
    rendered = due;
    const item = renderPart(part2, options);
    if (item !== void 0) items.push(item);
  }
  return [...items, ...calls.slice(rendered)];
}
function renderPart(part2, options) {
  switch (part2.type) {
    case "text":
      return part2.text === "" ? void 0 : said(part2.text);
    case "image":
      return renderOwnImage(part2);
    case "reasoning":
      return renderReasoning(part2, options);
    default:
      return assertNever(part2);
  }
}
function said(text3) {
  return { type: "message", role: "assistant", content: text3 };
}
function renderOwnImage({ image: image2 }) {
  const id = asText(image2.metadata?.["id"]);
  if (image2.type !== "base64" || id === void 0) return said("[image]");
  return { type: "image_generation_call", id, status: "completed", result: image2.base64 };
}
function renderReasoning(part2, { provider, family, stored }) {
  const opaque = asObject(part2.opaque);
  const id = asText(opaque?.["id"]);
  const encrypted = asText(opaque?.["encrypted_content"]);
  if (part2.provider !== provider || id === void 0) return void 0;
  const refused2 = !family.reasons && family.efforts !== void 0;
  if (refused2 || encrypted === void 0 && !stored) return void 0;
  return defined({
    type: "reasoning",
    id,
    summary: part2.text === "" ? [] : [{ type: "summary_text", text: part2.text }],
    encrypted_content: encrypted
  });
}
function renderCall2(call2, ids) {
  return {
    type: "function_call",
    call_id: ids.call(call2.id),
    name: call2.name,
    arguments: argumentsJson(call2)
  };
}

// ../../src/providers/openai/responses/render-responses.ts
function renderResponses(request2, options) {
  const { temperature, effort, cache, tools: tools3, format, dropped: dropped2 } = sharedParameters(request2, options);
  const { toolChoice, maxTokens } = request2;
  const { family, stream } = options;
  const summary = request2.reasoning?.summary === true && !dropped2.includes("reasoning");
  const body = defined({
    model: request2.model,
    input: renderInput(request2.messages, options),
    temperature,
    max_output_tokens: maxTokens,
    tools: tools3.length === 0 ? void 0 : tools3.map(renderTool2),
    tool_choice: tools3.length === 0 || toolChoice === void 0 ? void 0 : renderChoice2(toolChoice),
    text: format === void 0 ? void 0 : { format },
    reasoning: effort === void 0 && !summary ? void 0 : defined({ effort, summary: summary ? "auto" : void 0 }),
    store: false,
    include: family.reasons ? ["reasoning.encrypted_content"] : void 0,
    ...cache,
    ...stream ? { stream } : {}
  });
  return { path: "/responses", body, dropped: dropped2 };
}
function renderTool2(tool2) {
  return { type: "function", strict: false, ...tool2 };
}
function renderChoice2(choice) {
  return choice === "auto" || choice === "none" || choice === "required" ? choice : { type: "function", name: choice };
}

// ../../src/providers/openai/render-request.ts
function renderRequest(request2, context) {
  const { provider, endpoint, stream } = context;
  if (request2.model === void 0 || request2.model === "") {
    throw new EngineError("missing_model", `${provider} needs a model`, { provider });
  }
  const { openai: openai2 } = request2.providerOptions;
  const own = provider === "openai" ? void 0 : request2.providerOptions[provider];
  const over3 = mergeBody(openai2 ?? {}, own);
  const options = {
    ...context,
    family: modelFamily(request2.model),
    stored: over3["store"] === true
  };
  const rendered = endpoint === "chat" ? renderChat(request2, options) : renderResponses(request2, options);
  const body = mergeBody(rendered.body, over3);
  return { ...rendered, body: stream ? { ...body, stream } : body };
}
function endpointFor(api, model2) {
  return api ?? modelFamily(model2 ?? "").endpoint;
}

// ../../src/providers/openai/prepare-call.ts
var imageLimits = {
  maxBytes: 20 * 1024 * 1024,
  mimeTypes: ["image/png", "image/jpeg", "image/webp", "image/gif"]
};
async function prepareCall2(settings, request2, { context, notes, apiKey, ...options }) {
  const { provider, stream } = context;
  const { requestId } = notes;
  const sendable = hasImages(request2) ? await resolveImages(request2, { provider, ...imageLimits }) : request2;
  const { path, body, dropped: dropped2 } = renderRequest(sendable, context);
  const { headers, clean } = callHeaders(settings, { apiKey, stream, requestId });
  notes.dropped = dropped2;
  notes.clean = clean;
  return {
    provider,
    requestId,
    url: addressOf(settings.baseUrl, path),
    headers,
    body: JSON.stringify(body),
    parseFailure: (status, text3, answered) => parseFailure(provider, status, text3, answered),
    splitter: sniffedBody,
    onResponse: (response) => {
      notes.providerRequestId = response.headers.get("x-request-id") ?? void 0;
    },
    fetch: settings.fetch,
    signal: options.signal,
    clock: options.clock,
    requestTimeoutMs: options.requestTimeoutMs,
    streamTimeoutMs: options.streamTimeoutMs
  };
}
function addressOf(baseUrl, path) {
  const address = new URL(baseUrl);
  address.pathname = address.pathname.replace(/\/+$/, "") + path;
  return address.href;
}

// ../../src/providers/openai/responses/finish-reason.ts
function responseEnd(response, hasCalls) {
  const status = asText(response["status"]);
  const why = asText(asObject(response["incomplete_details"])?.["reason"]);
  if (status !== "incomplete") {
    const known2 = status === "completed" || status === void 0;
    const ended = hasCalls ? "tool_calls" : "stop";
    return { finishReason: known2 ? ended : "other", rawFinishReason: status };
  }
  return { finishReason: cutReason(why), rawFinishReason: why ?? status };
}
function cutReason(why) {
  switch (why) {
    case "max_output_tokens":
    case "max_tokens":
      return "length";
    case "content_filter":
      return "content_filter";
    default:
      return "other";
  }
}

// ../../src/providers/openai/responses/call-item.ts
function startCall2(draft, item, wire, out) {
  const id = asText(wire["call_id"]);
  const name2 = asText(wire["name"]);
  if (id !== void 0 && name2 !== void 0) announce(draft, item, { id, name: name2 }, out);
}
function growCall2(item, argumentsDelta, out) {
  item.text += argumentsDelta;
  if (item.call !== void 0) {
    out.push({ type: "tool_call_delta", id: item.call.id, argumentsDelta });
  }
}
function endCall(draft, item, wire, out) {
  if (item.call === void 0) {
    const id = asText(wire["call_id"]) ?? asText(wire["id"]) ?? `call_${draft.calls.length}`;
    announce(draft, item, { id, name: asText(wire["name"]) ?? "" }, out);
  }
  const { call: call2 } = item;
  if (call2 === void 0) return;
  const whole = asText(wire["arguments"]);
  if (item.text === "" && whole !== void 0) growCall2(item, whole, out);
  const done = { id: call2.id, name: call2.name, ...parseArguments(whole ?? item.text) };
  draft.calls[call2.slot] = done;
  out.push({ type: "tool_call_completed", call: done });
}
function announce(draft, item, { id, name: name2 }, out) {
  begin(draft, out);
  const slot = draft.calls.push({ id, name: name2, arguments: {} }) - 1;
  item.call = { slot, id, name: name2 };
  out.push({ type: "tool_call_started", id, name: name2 });
  if (item.text !== "") out.push({ type: "tool_call_delta", id, argumentsDelta: item.text });
}

// ../../src/providers/openai/responses/generated-image.ts
function generatedImage(wire) {
  const base642 = asText(wire["result"]);
  if (wire["type"] !== "image_generation_call" || base642 === void 0) return void 0;
  const id = asText(wire["id"]);
  return defined({
    type: "base64",
    base64: base642,
    mimeType: `image/${asText(wire["output_format"]) ?? "png"}`,
    revisedPrompt: asText(wire["revised_prompt"]),
    metadata: id === void 0 ? void 0 : { id }
  });
}

// ../../src/providers/openai/responses/output-item.ts
function outputItem(index) {
  return {
    index,
    done: false,
    texts: /* @__PURE__ */ new Map(),
    slot: void 0,
    text: "",
    part: 0,
    call: void 0
  };
}

// ../../src/providers/openai/responses/reasoning-item.ts
var gap = "\n\n";
function growReasoning(draft, item, { part: part2, delta }, out) {
  openReasoning(draft, item, out);
  const said2 = part2 !== item.part && item.text !== "" ? gap + delta : delta;
  item.part = part2;
  item.text += said2;
  out.push(defined({ type: "reasoning_delta", delta: said2, index: item.index }));
}
function endReasoning(draft, item, wire, out) {
  const whole = reasoningText(wire);
  const opaque = opaqueOf(wire, draft.calls.length);
  if (whole === "" && item.text === "" && opaque === void 0) return;
  if (item.text === "" && whole !== "") growReasoning(draft, item, { part: 0, delta: whole }, out);
  openReasoning(draft, item, out);
  const text3 = whole === "" ? item.text : whole;
  const { index, slot = 0 } = item;
  const { provider } = draft.notes;
  draft.parts[slot] = defined({ type: "reasoning", text: text3, opaque, provider });
  out.push(defined({ type: "reasoning_completed", text: text3, index, opaque }));
}
function openReasoning(draft, item, out) {
  begin(draft, out);
  item.slot ??= draft.parts.push({ type: "reasoning", text: "" }) - 1;
}
function opaqueOf(wire, callsBefore) {
  const id = asText(wire["id"]);
  if (id === void 0) return void 0;
  return defined({
    id,
    encrypted_content: asText(wire["encrypted_content"]),
    calls_before: callsBefore === 0 ? void 0 : callsBefore
  });
}
function reasoningText(wire) {
  const summary = texts(wire["summary"]);
  return (summary.length > 0 ? summary : texts(wire["content"])).join(gap);
}
function texts(parts2) {
  return asList(parts2).flatMap((part2) => asText(asObject(part2)?.["text"]) ?? []);
}

// ../../src/providers/openai/responses/text-item.ts
function openText(draft, item, { contentIndex, refusal: refusal3 }, out) {
  const known2 = item.texts.get(contentIndex);
  if (known2 !== void 0) return known2;
  begin(draft, out);
  const slot = draft.parts.push({ type: "text", text: "" }) - 1;
  const block = { slot, index: item.index, refusal: refusal3, text: "", done: false };
  item.texts.set(contentIndex, block);
  return block;
}
function growText(draft, block, delta, out) {
  const { index } = block;
  block.text += delta;
  if (block.refusal) draft.refusal += delta;
  out.push(
    index === void 0 ? { type: "text_delta", delta } : { type: "text_delta", delta, index }
  );
}
function endText(draft, block, whole, out) {
  if (block.done) return;
  if (whole !== void 0 && whole.length > block.text.length && whole.startsWith(block.text)) {
    growText(draft, block, whole.slice(block.text.length), out);
  }
  const { index } = block;
  const text3 = whole ?? block.text;
  block.done = true;
  draft.parts[block.slot] = { type: "text", text: text3 };
  out.push(defined({ type: "text_completed", text: text3, index }));
}
function endMessageItem(draft, item, wire, out) {
  asList(wire["content"]).forEach((value, contentIndex) => {
    const part2 = asObject(value) ?? {};
    const refusal3 = part2["type"] === "refusal";
    const whole = asText(refusal3 ? part2["refusal"] : part2["text"]);
    if (whole !== void 0) {
      endText(draft, openText(draft, item, { contentIndex, refusal: refusal3 }, out), whole, out);
    }
    noteList(draft, "annotations", part2["annotations"]);
    noteList(draft, "logprobs", part2["logprobs"]);
  });
  for (const block of item.texts.values()) endText(draft, block, void 0, out);
}

// ../../src/providers/openai/responses/item-reader.ts
function itemReader(draft) {
  const output = {
    draft,
    items: /* @__PURE__ */ new Map(),
    writing: void 0,
    writingItem: void 0,
    writingPart: void 0
  };
  return {
    textDelta(event, refusal3, out) {
      const delta = event["delta"];
      if (typeof delta !== "string" || delta === "") return;
      growText(draft, textOf(output, event, refusal3, out), delta, out);
    },
    textDone(event, refusal3, out) {
      const whole = asText(event[refusal3 ? "refusal" : "text"]);
      if (whole !== void 0) endText(draft, textOf(output, event, refusal3, out), whole, out);
    },
    reasoningDelta(event, out) {
      const delta = asText(event["delta"]);
      const part2 = asCount(event["summary_index"] ?? event["content_index"]) ?? 0;
      if (delta === void 0) return;
      growReasoning(draft, itemOfEvent(output, event), { part: part2, delta }, out);
    },
    argumentsDelta(event, out) {
      const delta = asText(event["delta"]);
      if (delta !== void 0) growCall2(itemOfEvent(output, event), delta, out);
    },
    argumentsDone(event, out) {
      const item = itemOfEvent(output, event);
      const whole = asText(event["arguments"]);
      if (whole !== void 0 && item.text === "") growCall2(item, whole, out);
    },
    added(event, out) {
      const wire = asObject(event["item"]);
      if (wire?.["type"] !== "function_call") return;
      startCall2(draft, itemOfEvent(output, event), wire, out);
    },
    done(event, out) {
      const wire = asObject(event["item"]);
      if (wire !== void 0) finish(draft, itemOfEvent(output, event), wire, out);
    },
    end: (items, out) => endAll(output, items, out)
  };
}
function itemOf({ items }, index, id) {
  const key = index ?? id;
  const known2 = items.get(key);
  if (known2 !== void 0) return known2;
  const item = outputItem(asCount(index));
  items.set(key, item);
  return item;
}
function itemOfEvent(output, event) {
  const id = event["item_id"] ?? asObject(event["item"])?.["id"];
  return itemOf(output, event["output_index"], id);
}
function textOf(output, event, refusal3, out) {
  const item = event["output_index"] ?? event["item_id"];
  const part2 = event["content_index"];
  const { writing } = output;
  if (writing !== void 0 && item === output.writingItem && part2 === output.writingPart) {
    return writing;
  }
  const place = { contentIndex: asCount(part2) ?? 0, refusal: refusal3 };
  const block = openText(output.draft, itemOfEvent(output, event), place, out);
  output.writing = block;
  output.writingItem = item;
  output.writingPart = part2;
  return block;
}
function finish(draft, item, wire, out) {
  if (item.done) return;
  item.done = true;
  switch (wire["type"]) {
    case "message":
      endMessageItem(draft, item, wire, out);
      return;
    case "reasoning":
      endReasoning(draft, item, wire, out);
      return;
    case "function_call":
      endCall(draft, item, wire, out);
      return;
    default: {
      const image2 = generatedImage(wire);
      if (image2 === void 0) noteList(draft, "items", [wire]);
      else addImage2(draft, image2, out);
    }
  }
}
function endAll(output, items, out) {
  const { draft } = output;
  asList(items).forEach((value, index) => {
    const wire = asObject(value);
    if (wire === void 0) return;
    const item = output.items.get(wire["id"]) ?? itemOf(output, index, void 0);
    finish(draft, item, wire, out);
  });
  for (const item of output.items.values()) finish(draft, item, { type: openType(item) }, out);
}
function openType(item) {
  if (item.call !== void 0) return "function_call";
  return item.slot === void 0 ? "message" : "reasoning";
}

// ../../src/providers/openai/responses/responses-decoder.ts
function responsesDecoder({ notes, rawChunks }) {
  const draft = messageDraft(notes);
  const answer2 = { draft, items: itemReader(draft) };
  return {
    get done() {
      return draft.done;
    },
    push(data, event, out) {
      if (data === "" || data === "[DONE]") return;
      const value = chunkObject(JSON.parse(data));
      if (rawChunks) passRaw(draft, value, out);
      takeEvent(answer2, value["type"] ?? event, value, out);
    },
    end: () => void 0,
    failure: (error) => ({ type: "error", error })
  };
}
function takeEvent(answer2, type, event, out) {
  const { draft, items } = answer2;
  switch (type) {
    case "response.output_text.delta":
      items.textDelta(event, false, out);
      return;
    case "response.refusal.delta":
      items.textDelta(event, true, out);
      return;
    case "response.function_call_arguments.delta":
      items.argumentsDelta(event, out);
      return;
    case "response.reasoning_summary_text.delta":
    case "response.reasoning_summary.delta":
    case "response.reasoning_text.delta":
      items.reasoningDelta(event, out);
      return;
    case "response.output_text.done":
      items.textDone(event, false, out);
      return;
    case "response.refusal.done":
      items.textDone(event, true, out);
      return;
    case "response.function_call_arguments.done":
      items.argumentsDone(event, out);
      return;
    case "response.output_item.added":
      items.added(event, out);
      return;
    case "response.output_item.done":
      items.done(event, out);
      return;
    case "error":
    case "response.error":
      throw reportedError(draft, event);
    default:
      takeResponse(answer2, type, event, out);
  }
}
function takeResponse(answer2, type, event, out) {
  if (event["object"] === "response" || Array.isArray(event["output"])) {
    finish2(answer2, event, out);
    return;
  }
  const { draft } = answer2;
  const response = asObject(event["response"]);
  if (response === void 0) {
    if (event["error"]) throw reportedError(draft, event);
    return;
  }
  noteHead(draft, response);
  if (type === "response.failed") throw failedResponse(draft, response);
  if (endings.has(type)) finish2(answer2, response, out);
}
function finish2({ draft, items }, response, out) {
  noteHead(draft, response);
  const status = response["status"];
  if (status === "failed" || status === "cancelled") throw failedResponse(draft, response);
  draft.usage = asObject(response["usage"]);
  items.end(response["output"], out);
  noteEnd(draft, response);
  complete(draft, responseEnd(response, draft.calls.length > 0), out);
}
var endings = /* @__PURE__ */ new Set([
  "response.completed",
  "response.incomplete",
  "response.cancelled",
  "response.done"
]);
function failedResponse(draft, response) {
  const error = response["error"] ?? { message: `the response is ${asText(response["status"])}` };
  return reportedError(draft, { error });
}
function noteEnd(draft, response) {
  for (const name2 of ["incomplete_details", "service_tier"]) {
    const value = response[name2];
    if (value !== void 0 && value !== null) draft.metadata[name2] = value;
  }
}

// ../../src/providers/openai/open-call.ts
function openCall(settings, request2, options, stream) {
  const { provider } = settings;
  const endpoint = endpointFor(settings.api, request2.model);
  const decoding = decoderOptions(provider, options);
  const { notes } = decoding;
  const context = { provider, endpoint, stream, sessionId: options.sessionId };
  return {
    source: () => prepareCall2(settings, request2, { ...options, context, notes }),
    decoder: endpoint === "chat" ? chatDecoder(decoding) : responsesDecoder(decoding)
  };
}

// ../../src/providers/openai/openai.ts
function openai(options = {}) {
  const settings = settleOptions(options);
  const { provider, official, hasKey } = settings;
  return {
    provider,
    needsModel: true,
    key: { required: official, own: hasKey },
    stream(request2, callOptions2 = {}) {
      const { source, decoder } = openCall(settings, request2, callOptions2, true);
      return streamSse(source, decoder);
    },
    async generate(request2, callOptions2 = {}) {
      const { source, decoder } = openCall(settings, request2, callOptions2, false);
      const events = [];
      for await (const batch of streamSse(source, decoder)) events.push(...batch);
      return collectEventsSync(events);
    }
  };
}

// ../../src/providers/anthropic/anthropic-options.ts
var defaultBaseUrl2 = "https://api.anthropic.com/v1";
function anthropicSettings(options) {
  assertValid("invalid_options", optionIssues(options));
  const { provider = "anthropic", version = "2023-06-01", beta = [] } = options;
  const baseUrl = (options.baseUrl ?? defaultBaseUrl2).replace(/\/+$/, "");
  const headers = {
    "content-type": "application/json",
    "anthropic-version": version
  };
  if (beta.length > 0) headers["anthropic-beta"] = beta.join(",");
  for (const [name2, value] of Object.entries(options.headers ?? {}))
    headers[name2.toLowerCase()] = value;
  return {
    provider,
    url: `${baseUrl}/messages`,
    version,
    headers,
    fetch: options.fetch,
    keyRequired: baseUrl === defaultBaseUrl2 && !hasCredentials(headers)
  };
}
function hasCredentials(headers) {
  return "authorization" in headers || "x-api-key" in headers;
}
var optionIssues = optionsOf({
  baseUrl: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) => typeof value === "string" ? fine : [{ path: "", problem: "must be a string" }],
  headers: recordOf(text),
  fetch: anyFunction,
  version: someText,
  beta: listOf(someText),
  provider: someText
});

// ../../src/providers/anthropic/parse-failure.ts
var byStatus = /* @__PURE__ */ new Map([
  [400, "invalid_request"],
  [401, "authentication_failed"],
  [402, "authentication_failed"],
  [403, "authentication_failed"],
  [404, "invalid_request"],
  [408, "timeout"],
  [409, "invalid_request"],
  [413, "invalid_request"],
  [422, "invalid_request"],
  [429, "rate_limited"]
]);
var byType = /* @__PURE__ */ new Map([
  ["invalid_request_error", "invalid_request"],
  ["authentication_error", "authentication_failed"],
  ["billing_error", "authentication_failed"],
  ["permission_error", "authentication_failed"],
  ["not_found_error", "invalid_request"],
  ["conflict_error", "invalid_request"],
  ["request_too_large", "invalid_request"],
  ["rate_limit_error", "rate_limited"],
  ["timeout_error", "provider_unavailable"],
  ["api_error", "provider_unavailable"],
  ["overloaded_error", "provider_unavailable"]
]);
function parseFailure2(status, body, headers) {
  const { request_id, ...refused2 } = parseBody(body);
  const error = readError(refused2.error ?? refused2.message ?? refused2.detail);
  const reason = byStatus.get(status) ?? (status >= 500 ? "provider_unavailable" : void 0);
  const retry2 = headers.get("x-should-retry");
  return defined({
    ...parseError(error, reason, `the provider answered ${status}`),
    retryAfterMs: retryAfterMs(headers),
    retryable: retry2 === "true" || retry2 === "false" ? retry2 === "true" : void 0,
    metadata: errorFacts2(error, headers.get("request-id") ?? request_id)
  });
}
function parseStreamError(error) {
  return parseError(error, void 0, "the provider reported an error");
}
function readError(value) {
  if (typeof value === "string") return { message: value };
  return typeof value === "object" && value !== null ? value : void 0;
}
function errorFacts2(error, providerRequestId) {
  return defined({
    type: error?.type ?? void 0,
    code: error?.details?.error_code ?? void 0,
    providerRequestId: providerRequestId ?? void 0
  });
}
function parseError(error, known2, fallback) {
  const message3 = typeof error?.message === "string" && error.message !== "" ? error.message : fallback;
  const reason = known2 ?? byType.get(error?.type ?? "") ?? "unknown";
  return { reason: byWords(message3, reason), message: message3 };
}
function byWords(message3, reason) {
  if (reason !== "invalid_request" && reason !== "provider_unavailable") return reason;
  if (/content filtering policy/i.test(message3)) return "content_filter";
  const isTooLong = /prompt is too long|context (?:window|length|limit|size)/i.test(message3);
  return reason === "invalid_request" && isTooLong ? "context_length_exceeded" : reason;
}
function parseBody(body) {
  try {
    const value = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

// ../../src/providers/anthropic/http-call.ts
function httpCall(settings, body, { apiKey, ownKey, ...options }, answer2) {
  const { provider, requestId } = answer2;
  const key = [apiKey, ownKey].find((candidate) => candidate !== void 0 && candidate !== "");
  if (key === void 0 && settings.keyRequired) {
    const message3 = `no key for ${provider}: pass apiKey, or set one`;
    throw new EngineError("missing_key", message3, { provider, requestId });
  }
  const headers = { ...key === void 0 ? {} : { "x-api-key": key }, ...settings.headers };
  answer2.clean = secretFilter(headers);
  const { signal: signal2, requestTimeoutMs, streamTimeoutMs, clock } = options;
  return {
    provider,
    url: settings.url,
    headers,
    body,
    parseFailure: parseFailure2,
    splitter: sniffedBody,
    onResponse: (response) => {
      answer2.providerRequestId = response.headers.get("request-id") ?? void 0;
    },
    fetch: settings.fetch,
    signal: signal2,
    requestId,
    requestTimeoutMs,
    streamTimeoutMs,
    clock
  };
}

// ../../src/providers/anthropic/is-object.ts
function isObject2(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// ../../src/providers/anthropic/merge-options.ts
function mergeOptions(body, options) {
  const merged2 = { ...body };
  for (const [key, value] of Object.entries(options))
    merged2[key] = mergeMember(key, body[key], value);
  return merged2;
}
function mergeMember(key, ours, theirs) {
  if (key === "tools" && Array.isArray(ours) && Array.isArray(theirs)) {
    return [...ours, ...theirs];
  }
  if (key === "tool_choice" && isObject2(theirs)) return { type: "auto", ...sameKind(ours, theirs) };
  return isObject2(theirs) ? sameKind(ours, theirs) : theirs;
}
function sameKind(ours, theirs) {
  const differ = isObject2(ours) && "type" in theirs && ours["type"] !== theirs["type"];
  return isObject2(ours) && !differ ? { ...ours, ...theirs } : theirs;
}

// ../../src/providers/anthropic/model-traits.ts
var compatible = {
  maxTokens: 8192,
  thinking: "budget",
  thinkingOff: "omit",
  sampling: true,
  forcedTools: true,
  structuredOutput: false,
  prefill: true
};
var claude45 = { ...compatible, maxTokens: 64e3, structuredOutput: true };
var claude46 = { ...claude45, thinking: "adaptive", prefill: false };
var claude47 = { ...claude46, maxTokens: 128e3, sampling: false };
var claude5 = { ...claude47, thinkingOff: "disabled" };
var alwaysThinking = { ...claude5, thinkingOff: "low_effort" };
var newest = { ...alwaysThinking, forcedTools: false };
var rows = [
  ["any", 506, newest],
  ["opus", 505, newest],
  ["sonnet", 505, { ...newest, thinkingOff: "between_tools" }],
  ["haiku", 505, claude5],
  ["fable mythos", 501, newest],
  ["fable mythos", 500, alwaysThinking],
  ["any", 500, claude5],
  ["any", 407, claude47],
  ["opus", 406, { ...claude46, maxTokens: 128e3 }],
  ["any", 406, claude46],
  ["any", 405, claude45],
  ["opus", 400, { ...compatible, maxTokens: 32e3 }],
  ["any", 307, { ...compatible, maxTokens: 64e3 }],
  ["any", 305, { ...compatible, thinking: "none" }],
  ["any", 0, { ...compatible, thinking: "none", maxTokens: 4096 }]
];
function modelTraits(model2) {
  const name2 = model2.toLowerCase();
  if (!name2.includes("claude")) return compatible;
  const found = versionPattern.exec(name2);
  const family = /opus|sonnet|haiku|fable|mythos/.exec(name2)?.[0] ?? "any";
  if (found === null) return name2.includes("mythos-preview") ? alwaysThinking : newest;
  const version = Number(found[1]) * 100 + Number(found[2] ?? 0);
  const row = rows.find(
    ([families2, from]) => version >= from && (families2 === "any" || families2.includes(family))
  );
  return row?.[2] ?? newest;
}
var versionPattern = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)/;

// ../../src/providers/anthropic/call-fields.ts
function callFields(from) {
  const { caller, toolset_name } = from;
  return {
    ...isObject2(caller) && caller["type"] !== "direct" ? { caller } : {},
    ...typeof toolset_name === "string" ? { toolset_name } : {}
  };
}

// ../../src/providers/anthropic/parse-arguments.ts
function parseArguments2(raw) {
  if (raw.trim() === "") return {};
  try {
    const value = JSON.parse(raw);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return void 0;
    return value;
  } catch {
    return void 0;
  }
}

// ../../src/providers/anthropic/reasoning-opaque.ts
function echoedBlock(part2, provider) {
  const { opaque } = part2;
  if (part2.provider !== provider || !isObject2(opaque)) return void 0;
  const { signature, redacted, block, toolCalls } = opaque;
  const before = typeof toolCalls === "number" ? toolCalls : 0;
  if (typeof signature === "string") {
    return { block: { type: "thinking", thinking: part2.text, signature }, toolCalls: before };
  }
  if (typeof redacted === "string") {
    return { block: { type: "redacted_thinking", data: redacted }, toolCalls: before };
  }
  return isObject2(block) ? { block, toolCalls: before } : void 0;
}

// ../../src/providers/anthropic/render-blocks.ts
function renderContent2(content2) {
  if (typeof content2 === "string") return renderText(content2);
  const blocks = [];
  for (const part2 of content2) {
    if (part2.type === "text") blocks.push(...renderText(part2.text));
    else if (part2.type === "image") blocks.push(renderImage(part2.image));
  }
  return blocks;
}
function renderText(text3) {
  return text3.trim() === "" ? [] : [{ type: "text", text: text3 }];
}
function renderImage(image2) {
  switch (image2.type) {
    case "base64": {
      const { base64: data, mimeType: media_type } = image2;
      return { type: "image", source: { type: "base64", media_type, data } };
    }
    case "url":
      return { type: "image", source: { type: "url", url: image2.url } };
    case "file":
      throw new ValidationError("invalid_image", [{ path: image2.path, problem: "was not read" }]);
    default:
      return assertNever(image2);
  }
}

// ../../src/providers/anthropic/tool-ids.ts
function toolIds2() {
  const used = /* @__PURE__ */ new Set();
  const latest = /* @__PURE__ */ new Map();
  return {
    call(id) {
      const base = wireName(id, "call");
      let unique = base;
      for (let count4 = 2; used.has(unique); count4++) unique = `${base}_${count4}`;
      used.add(unique);
      latest.set(id, unique);
      return unique;
    },
    result: (id) => latest.get(id) ?? wireName(id, "call")
  };
}
function wireName(name2, fallback) {
  if (/^[\w-]+$/.test(name2)) return name2;
  return name2 === "" ? fallback : name2.replaceAll(/[^\w-]/g, "_");
}

// ../../src/providers/anthropic/render-assistant.ts
function renderAssistant3(message3, context) {
  const { content: content2, toolCalls = [] } = message3;
  const parts2 = typeof content2 === "string" ? [{ type: "text", text: content2 }] : content2;
  const answered = answeredServerTools(parts2, context);
  const blocks = [];
  let placed = 0;
  const placeCalls = (until) => {
    for (const call2 of toolCalls.slice(placed, until)) blocks.push(renderCall3(call2, context.ids));
    placed = Math.max(placed, until);
  };
  for (const part2 of parts2) {
    if (part2.type === "text") blocks.push(...renderText(part2.text));
    if (part2.type !== "reasoning") continue;
    const echo = echoedBlock(part2, context.provider);
    if (echo === void 0 || !isComplete(echo.block, answered, context.isLast)) continue;
    placeCalls(echo.toolCalls);
    blocks.push(echo.block);
  }
  placeCalls(toolCalls.length);
  while (isThinking(blocks.at(-1))) blocks.pop();
  return blocks;
}
function isServerToolUse(block) {
  const type = block?.["type"];
  return type === "server_tool_use" || type === "mcp_tool_use";
}
function isThinking(block) {
  const type = block?.["type"];
  return type === "thinking" || type === "redacted_thinking";
}
function isComplete(block, answered, isLast) {
  return isLast || !isServerToolUse(block) || answered.has(block["id"]);
}
function answeredServerTools(parts2, { provider }) {
  const answered = /* @__PURE__ */ new Set();
  for (const part2 of parts2) {
    if (part2.type === "reasoning") answered.add(echoedBlock(part2, provider)?.block["tool_use_id"]);
  }
  return answered;
}
function renderCall3(call2, ids) {
  const block = {
    type: "tool_use",
    id: ids.call(call2.id),
    name: wireName(call2.name, "unnamed"),
    input: renderInput2(call2)
  };
  return isObject2(call2.opaque) ? { ...block, ...callFields(call2.opaque) } : block;
}
function renderInput2({ arguments: input, rawArguments = "" }) {
  if (Object.keys(input).length > 0 || parseArguments2(rawArguments) !== void 0) return input;
  return { INVALID_JSON: rawArguments };
}

// ../../src/providers/anthropic/render-messages.ts
var continuation = "Continue.";
function renderMessages(messages2, context) {
  const system2 = messages2.filter(({ role }) => role === "system").map(messageText);
  const turns = renderTurns(
    messages2.filter(({ role }) => role !== "system"),
    context.provider
  );
  const alone = turns.length === 0 ? system2.pop() ?? "" : "";
  if (alone !== "") turns.push({ role: "user", content: [...renderContent2(alone)] });
  if (turns.length === 0) {
    const problem = "has nothing to send: every message is empty";
    throw new ValidationError("invalid_request", [{ path: "messages", problem }]);
  }
  endTurns(turns, context.prefill);
  const lifted2 = system2.filter((text3) => text3.trim() !== "").join("\n\n");
  return {
    ...lifted2 === "" ? {} : { system: lifted2 },
    messages: turns.map(toWire)
  };
}
function renderTurns(messages2, provider) {
  const turns = [];
  const ids = toolIds2();
  const toolsets = /* @__PURE__ */ new Map();
  messages2.forEach((message3, index) => {
    switch (message3.role) {
      case "user":
        say(turns, "user", renderContent2(message3.content));
        return;
      case "tool": {
        const id = message3.toolCallId ?? "";
        const { toolset_name } = toolsets.get(id) ?? {};
        const block = {
          type: "tool_result",
          tool_use_id: ids.result(id),
          ...resultContent(message3)
        };
        answer(turns, toolset_name === void 0 ? block : { ...block, toolset_name });
        return;
      }
      case "assistant": {
        const isLast = index === messages2.length - 1;
        say(turns, "assistant", renderAssistant3(message3, { provider, ids, isLast }));
        for (const { id, opaque } of message3.toolCalls ?? []) {
          toolsets.set(id, isObject2(opaque) ? callFields(opaque) : {});
        }
        say(turns, "user", assistantImages(message3));
        return;
      }
      case "system":
        return;
      default:
        assertNever(message3.role);
    }
  });
  return turns;
}
function say(turns, role, blocks) {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else turns.push({ role, content: [...blocks] });
}
function answer(turns, block) {
  const last = turns.at(-1);
  if (last?.role !== "user") {
    turns.push({ role: "user", content: [block] });
    return;
  }
  const { content: content2 } = last;
  const at = content2.findIndex(({ type }) => type !== "tool_result");
  content2.splice(at === -1 ? content2.length : at, 0, block);
}
function resultContent({ content: content2 }) {
  if (typeof content2 === "string") return content2.trim() === "" ? {} : { content: content2 };
  const blocks = renderContent2(content2);
  return blocks.length === 0 ? {} : { content: blocks };
}
function assistantImages({ content: content2 }) {
  if (typeof content2 === "string") return [];
  return content2.flatMap((part2) => part2.type === "image" ? [renderImage(part2.image)] : []);
}
function endTurns(turns, prefill) {
  const last = turns.at(-1);
  const block = last?.content.at(-1);
  if (last?.role !== "assistant" || isServerToolUse(block)) return;
  if (!prefill) {
    turns.push({ role: "user", content: [{ type: "text", text: continuation }] });
  } else if (typeof block?.["text"] === "string") {
    last.content[last.content.length - 1] = { type: "text", text: block["text"].trimEnd() };
  }
}
function toWire({ role, content: content2 }) {
  const [only] = content2;
  const { type, text: text3 } = only ?? {};
  return content2.length === 1 && type === "text" && text3 !== void 0 ? { role, content: text3 } : { role, content: content2 };
}

// ../../src/providers/anthropic/render-reasoning.ts
var efforts2 = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  max: "max"
};
var budgets = {
  minimal: 1024,
  low: 4096,
  medium: 12288,
  high: 24576,
  max: 49152
};
var leastBudget = 1024;
function renderReasoning2(reasoning, { traits, maxTokens, forced }) {
  if (reasoning === void 0) return { adjusted: false };
  const { effort } = reasoning;
  if (effort === "none") return renderOff(traits);
  if (traits.thinking === "none") return { adjusted: true };
  if (traits.thinking === "adaptive") {
    if (forced) return { effort: efforts2[effort], adjusted: true };
    const thinking = { type: "adaptive", ...renderDisplay(reasoning) };
    return { thinking, effort: efforts2[effort], adjusted: false };
  }
  const budget_tokens = Math.min(budgets[effort], Math.floor(maxTokens * 0.75));
  if (forced || budget_tokens < leastBudget) return { adjusted: true };
  return {
    thinking: { type: "enabled", budget_tokens, ...renderDisplay(reasoning) },
    adjusted: false
  };
}
function renderOff({ thinkingOff }) {
  switch (thinkingOff) {
    case "omit":
      return { adjusted: false };
    case "disabled":
    case "between_tools":
      return { thinking: { type: thinkingOff }, adjusted: false };
    case "low_effort":
      return { effort: "low", adjusted: true };
    default:
      return assertNever(thinkingOff);
  }
}
function renderDisplay({ summary }) {
  return summary === void 0 ? {} : { display: summary ? "summarized" : "omitted" };
}

// ../../src/providers/anthropic/strict-schema.ts
function strictSchema2(schema) {
  const kept = {};
  const moved = [];
  for (const [key, value] of Object.entries(schema)) {
    const strict = strictKeyword(key, value);
    if (strict !== void 0) kept[strict[0]] = strict[1];
    else if (!dropped.has(key)) moved.push(`${key}: ${JSON.stringify(value)}`);
  }
  if (isObjectSchema2(schema)) {
    kept["additionalProperties"] = false;
    kept["properties"] ??= {};
  }
  if (moved.length > 0) {
    const { description } = schema;
    const lead = typeof description === "string" ? `${description}

` : "";
    kept["description"] = `${lead}{${moved.join(", ")}}`;
  }
  return kept;
}
var dropped = /* @__PURE__ */ new Set(["$schema", "$id", "$comment", "additionalProperties"]);
var formats2 = /* @__PURE__ */ new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid"
]);
function strictKeyword(key, value) {
  switch (key) {
    case "$ref":
    case "type":
    case "title":
    case "description":
    case "required":
    case "default":
      return [key, value];
    case "enum":
      return Array.isArray(value) && value.every(isPrimitive) ? [key, value] : void 0;
    case "const":
      return isPrimitive(value) ? [key, value] : void 0;
    case "format":
      return formats2.has(value) ? [key, value] : void 0;
    case "minItems":
      return value === 0 || value === 1 ? [key, value] : void 0;
    case "anyOf":
    case "allOf":
      return [key, strictList(value)];
    case "oneOf":
      return ["anyOf", strictList(value)];
    case "items":
      return isObject2(value) ? [key, strictSchema2(value)] : void 0;
    case "properties":
    case "$defs":
    case "definitions":
      return isObject2(value) ? [key, strictMembers2(value)] : void 0;
    default:
      return void 0;
  }
}
function strictList(value) {
  return Array.isArray(value) ? value.map((item) => strictItem2(item)) : value;
}
function strictMembers2(members2) {
  return Object.fromEntries(Object.entries(members2).map(([name2, item]) => [name2, strictItem2(item)]));
}
function strictItem2(item) {
  return isObject2(item) ? strictSchema2(item) : item;
}
function isPrimitive(value) {
  return value === null || typeof value !== "object";
}
function isObjectSchema2({ type, properties }) {
  return type === "object" || Array.isArray(type) && type.includes("object") || isObject2(properties);
}

// ../../src/providers/anthropic/render-tools.ts
function renderTools(request2, traits, structured) {
  const tools3 = request2.tools.map((tool2) => renderTool3(tool2, traits.structuredOutput));
  if (structured.by === "tool") return withAnswerTool(request2, tools3, structured.tool);
  if (tools3.length === 0) return withoutTools(request2);
  const choice = renderChoice3(request2.toolChoice);
  const forced = choice !== void 0 && choice["type"] !== "none";
  const dropped2 = forced && !traits.forcedTools;
  return defined({
    tools: tools3,
    toolChoice: dropped2 ? void 0 : choice,
    forced: forced && !dropped2,
    dropped: dropped2
  });
}
function renderChoice3(choice) {
  switch (choice) {
    case void 0:
    case "auto":
      return void 0;
    case "none":
      return { type: "none" };
    case "required":
      return { type: "any" };
    default:
      return { type: "tool", name: choice };
  }
}
function renderTool3({ name: name2, description, schema, strict }, canBeStrict) {
  const isStrict = strict === true && canBeStrict;
  const input_schema = { ...isStrict ? strictSchema2(schema) : schema, type: "object" };
  return {
    name: name2,
    ...description === "" ? {} : { description },
    input_schema,
    ...isStrict ? { strict: true } : {}
  };
}
function withAnswerTool({ toolChoice = "auto" }, tools3, { name: name2, description, schema }) {
  const rendered = { forced: true, dropped: false };
  const all = [...tools3, { name: name2, description, input_schema: schema }];
  if (tools3.length === 0 || toolChoice === "none") {
    return { ...rendered, tools: all, toolChoice: { type: "tool", name: name2 } };
  }
  if (toolChoice === "auto") return { ...rendered, tools: all, toolChoice: { type: "any" } };
  return defined({ ...rendered, tools: tools3, toolChoice: renderChoice3(toolChoice) });
}
function withoutTools({ messages: messages2, providerOptions: providerOptions2 }) {
  const rendered = { forced: false, dropped: false };
  const names = /* @__PURE__ */ new Set();
  for (const { toolCalls = [] } of messages2) {
    for (const { name: name2 } of toolCalls) names.add(wireName(name2, "unnamed"));
  }
  if (names.size === 0 || providerOptions2.anthropic?.["tools"] !== void 0) return rendered;
  const tools3 = Array.from(names, (name2) => ({ name: name2, input_schema: { type: "object" } }));
  return { ...rendered, tools: tools3, toolChoice: { type: "none" } };
}

// ../../src/providers/anthropic/structured-output.ts
function structuredOutput({ responseFormat: responseFormat2, tools: tools3, model: model2 }, traits) {
  if (responseFormat2 === void 0 || responseFormat2.type === "text") return { by: "nothing" };
  const isSchema = responseFormat2.type === "json_schema";
  if (isSchema && traits.structuredOutput) {
    const schema2 = strictSchema2(responseFormat2.schema);
    return { by: "format", format: { type: "json_schema", schema: schema2 } };
  }
  if (!traits.forcedTools) {
    const message3 = `${model2} has no JSON mode without a schema; give responseFormat a jsonSchema(\u2026)`;
    throw new EngineError("unsupported_response_format", message3);
  }
  let name2 = isSchema ? `respond_with_${responseFormat2.name}` : "respond_with_json";
  name2 = name2.replaceAll(/[^\w-]/g, "_").slice(0, 60);
  while (tools3.some((tool2) => tool2.name === name2)) name2 += "_";
  const schema = isSchema ? responseFormat2.schema : { type: "object" };
  return { by: "tool", tool: answerTool(name2, schema) };
}
function answerTool(name2, schema) {
  const description = "Gives the final answer. Call it when the answer is ready, with the answer as its input.";
  if (schema["type"] === "object") return { name: name2, description, schema, wrapped: false };
  const { $defs, definitions, ...value } = schema;
  const wrapper = {
    type: "object",
    properties: { value },
    required: ["value"]
  };
  if ($defs !== void 0) wrapper["$defs"] = $defs;
  if (definitions !== void 0) wrapper["definitions"] = definitions;
  return { name: name2, description, schema: wrapper, wrapped: true };
}
function unwrapAnswer(text3) {
  try {
    const parsed = JSON.parse(text3);
    const value = isObject2(parsed) ? parsed["value"] : void 0;
    return value === void 0 ? text3 : JSON.stringify(value);
  } catch {
    return text3;
  }
}

// ../../src/providers/anthropic/render-request.ts
var withoutSampling = "2026-10-21";
function renderRequest2(request2, context) {
  const { model: model2 } = request2;
  if (model2 === void 0) {
    const { provider } = context;
    throw new EngineError("missing_model", `${provider} needs a model`, { provider });
  }
  const traits = modelTraits(model2);
  const structured = structuredOutput(request2, traits);
  const { maxTokens = traits.maxTokens } = request2;
  const { tools: tools3, toolChoice, forced, dropped: dropped2 } = renderTools(request2, traits, structured);
  const { thinking, effort, adjusted } = renderReasoning2(request2.reasoning, {
    traits,
    maxTokens,
    forced
  });
  const isThinking2 = thinking?.["type"] === "enabled" || thinking?.["type"] === "adaptive";
  const prefill = traits.prefill && !isThinking2;
  const { system: system2, messages: messages2 } = renderMessages(request2.messages, { ...context, prefill });
  const sampling = traits.sampling && context.version < withoutSampling && !isThinking2;
  const temperature = sampling ? renderTemperature(request2) : void 0;
  const body = defined({
    model: model2,
    max_tokens: maxTokens,
    system: system2,
    messages: messages2,
    temperature,
    tools: tools3,
    tool_choice: toolChoice,
    thinking,
    output_config: outputConfig(effort, structured.by === "format" ? structured.format : void 0),
    cache_control: cacheControl(request2.promptCache)
  });
  return defined({
    body: withProviderOptions(body, request2, context.provider),
    answerTool: structured.by === "tool" ? structured.tool : void 0,
    adjusted: [
      ...temperature === request2.temperature ? [] : ["temperature"],
      ...dropped2 ? ["toolChoice"] : [],
      ...adjusted ? ["reasoning"] : []
    ]
  });
}
function renderTemperature({ temperature }) {
  return temperature === void 0 ? void 0 : Math.min(temperature, 1);
}
function withProviderOptions(body, { providerOptions: providerOptions2 }, provider) {
  const merged2 = mergeOptions(body, providerOptions2.anthropic ?? {});
  return provider === "anthropic" ? merged2 : mergeOptions(merged2, providerOptions2[provider] ?? {});
}
function outputConfig(effort, format) {
  if (effort === void 0 && format === void 0) return void 0;
  return defined({ effort, format });
}
function cacheControl(promptCache2) {
  if (promptCache2 === void 0) return void 0;
  const isLong = promptCache2 !== true && promptCache2.retention === "long";
  return { type: "ephemeral", ...isLong ? { ttl: "1h" } : {} };
}

// ../../src/providers/anthropic/call-for.ts
var maxImageBytes = 10 * 1024 * 1024 * 3 / 4;
var mimeTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];
async function callFor(plan, stream) {
  const { settings, options, answer: answer2 } = plan;
  const { provider } = settings;
  const limits = { provider, maxBytes: maxImageBytes, mimeTypes };
  const request2 = hasImages(plan.request) ? await resolveImages(plan.request, limits) : plan.request;
  const { body, answerTool: answerTool2, adjusted } = renderRequest2(request2, settings);
  answer2.answerTool = answerTool2;
  answer2.adjusted = adjusted;
  return httpCall(settings, JSON.stringify({ ...body, stream }), options, answer2);
}

// ../../src/providers/anthropic/decoder-state.ts
function decoderState(call2) {
  return {
    call: call2,
    blocks: [],
    current: void 0,
    calls: 0,
    counts: {},
    stopReason: void 0,
    metadata: {},
    citations: [],
    serverTools: [],
    early: [],
    started: false,
    done: false
  };
}
function callId({ call: call2 }, { head, callsBefore }) {
  return head.id ?? `${call2.requestId}_${callsBefore}`;
}

// ../../src/providers/anthropic/close-block.ts
function closeBlock2(state, block, out) {
  block.closed = true;
  const { text: text3, signature, head } = block;
  switch (block.kind) {
    case "text":
      if (text3 !== "") completeText(block, text3, out);
      return;
    case "thinking":
      if (text3 !== "" || signature !== "") {
        completeReasoning(state, block, signature === "" ? void 0 : { signature }, out);
      }
      return;
    case "redacted":
      completeReasoning(state, block, { redacted: head.data ?? "" }, out);
      return;
    case "tool":
      completeCall(state, block, out);
      return;
    case "answer":
      completeAnswer(state, block, out);
      return;
    case "server":
      completeServerBlock(state, block, out);
      return;
    default:
      assertNever(block.kind);
  }
}
function completeText(block, text3, out) {
  block.part = { type: "text", text: text3 };
  out.push({ type: "text_completed", text: text3, index: block.index });
}
function completeReasoning({ call: call2 }, block, echo, out) {
  const { index, callsBefore } = block;
  const text3 = block.kind === "thinking" ? block.text : "";
  const toolCalls = callsBefore === 0 ? void 0 : callsBefore;
  const opaque = echo === void 0 ? void 0 : { ...echo, ...defined({ toolCalls }) };
  const { provider } = call2;
  block.part = defined({ type: "reasoning", text: text3, opaque, provider });
  out.push({
    type: "reasoning_completed",
    text: text3,
    index,
    ...opaque === void 0 ? {} : { opaque }
  });
}
function completeCall(state, block, out) {
  const id = callId(state, block);
  const rawArguments = inputText(block);
  if (block.text === "" && rawArguments !== "{}") {
    out.push({ type: "tool_call_delta", id, argumentsDelta: rawArguments });
  }
  const opaque = callFields(asJson(block));
  const call2 = defined({
    id,
    name: block.head.name ?? "",
    arguments: parseArguments2(rawArguments) ?? {},
    rawArguments,
    opaque: Object.keys(opaque).length === 0 ? void 0 : opaque
  });
  block.call = call2;
  out.push({ type: "tool_call_completed", call: call2 });
}
function completeAnswer({ call: call2, metadata: metadata2 }, block, out) {
  const raw = inputText(block);
  const wrapped = call2.answerTool?.wrapped === true;
  const text3 = wrapped ? unwrapAnswer(raw) : raw;
  if (wrapped || block.text === "") {
    out.push({ type: "text_delta", delta: text3, index: block.index });
  }
  metadata2["structuredOutput"] = "tool";
  completeText(block, text3, out);
}
function completeServerBlock(state, block, out) {
  const whole = asJson(block);
  state.serverTools.push(whole);
  completeReasoning(state, block, { block: whole }, out);
}
function inputText({ text: text3, head }) {
  return text3 === "" ? JSON.stringify(head.input ?? {}) : text3;
}
function asJson({ head, fields, text: text3 }) {
  const input = text3 === "" ? {} : { input: parseArguments2(text3) ?? {} };
  return { ...head, ...fields, ...input };
}

// ../../src/providers/anthropic/decode-block.ts
function startBlock(state, event, out) {
  const head = event.content_block ?? {};
  const known2 = findBlock(state, event.index);
  if (known2 !== void 0) closeBlock2(state, known2, out);
  const block = addBlock(state, head, event.index);
  if (block.kind === "tool") {
    state.calls++;
    out.push({ type: "tool_call_started", id: callId(state, block), name: head.name ?? "" });
  }
  if (block.kind === "text") growText2(block, head.text ?? "", out);
  growThinking(block, head.thinking ?? "", out);
  block.signature += head.signature ?? "";
  for (const citation of head.citations ?? []) addCitation(state, block, citation);
}
function growBlock2(state, event, out) {
  const { delta } = event;
  if (delta === void 0 || delta === null) return;
  const block = findBlock(state, event.index) ?? addBlock(state, impliedHead(delta), event.index);
  switch (delta.type ?? "") {
    case "text_delta":
      growText2(block, delta.text ?? "", out);
      return;
    case "input_json_delta":
      growInput(state, block, delta.partial_json ?? "", out);
      return;
    case "thinking_delta":
      growThinking(block, delta.thinking ?? "", out);
      return;
    case "signature_delta":
      block.signature += delta.signature ?? "";
      return;
    case "citations_delta":
      addCitation(state, block, delta.citation);
      return;
    default:
      if (block.kind === "server") growFields(block, delta);
  }
}
function stopBlock(state, event, out) {
  const block = findBlock(state, event.index);
  if (block !== void 0) closeBlock2(state, block, out);
}
function findBlock(state, index) {
  const { current } = state;
  const isMeant = (block) => !block.closed && (index ?? block.index) === block.index;
  if (current !== void 0 && isMeant(current)) return current;
  const found = state.blocks.findLast(isMeant);
  if (found !== void 0) state.current = found;
  return found;
}
function addBlock(state, head, index) {
  const block = {
    kind: kindOf(head, state.call.answerTool?.name),
    index: index ?? state.blocks.length,
    head,
    callsBefore: state.calls,
    text: "",
    signature: "",
    fields: {},
    closed: false
  };
  state.blocks.push(block);
  state.current = block;
  return block;
}
function kindOf({ type = "", name: name2 }, answerTool2) {
  switch (type) {
    case "text":
    case "thinking":
      return type;
    case "redacted_thinking":
      return "redacted";
    case "tool_use":
      return name2 !== void 0 && name2 === answerTool2 ? "answer" : "tool";
    default:
      return "server";
  }
}
function impliedHead({ type }) {
  return type === "thinking_delta" ? { type: "thinking" } : { type: "text" };
}
function addCitation({ citations }, { index }, citation) {
  if (citation !== void 0 && citation !== null) citations.push({ index, citation });
}
function growText2(block, delta, out) {
  if (delta === "") return;
  block.text += delta;
  out.push({ type: "text_delta", delta, index: block.index });
}
function growThinking(block, delta, out) {
  if (delta === "") return;
  block.text += delta;
  out.push({ type: "reasoning_delta", delta, index: block.index });
}
function growInput(state, block, delta, out) {
  if (delta === "") return;
  block.text += delta;
  if (block.kind === "tool") {
    out.push({ type: "tool_call_delta", id: callId(state, block), argumentsDelta: delta });
  } else if (block.kind === "answer" && state.call.answerTool?.wrapped === false) {
    out.push({ type: "text_delta", delta, index: block.index });
  }
}
function growFields({ fields, head }, delta) {
  for (const [name2, value] of Object.entries(delta)) {
    if (name2 === "type") continue;
    const known2 = fields[name2] ?? head[name2];
    const grows2 = typeof value === "string" && typeof known2 === "string";
    fields[name2] = grows2 ? known2 + value : value;
  }
}

// ../../src/providers/anthropic/parse-finish-reason.ts
var reasons = /* @__PURE__ */ new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"]
]);
function parseFinishReason(stopReason) {
  return reasons.get(stopReason ?? "") ?? "other";
}

// ../../src/providers/anthropic/parse-usage.ts
function mergeCounts(earlier, later) {
  const merged2 = { ...earlier };
  for (const [name2, value] of Object.entries(later ?? {})) if (value !== null) merged2[name2] = value;
  return merged2;
}
function parseUsage2(counts) {
  const {
    input_tokens,
    output_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    output_tokens_details,
    ...extra
  } = counts;
  const uncached = count2(input_tokens);
  const cachedInputTokens = count2(cache_read_input_tokens);
  const cacheWriteInputTokens = count2(cache_creation_input_tokens);
  const outputTokens = count2(output_tokens);
  const inputTokens = uncached === void 0 ? void 0 : uncached + (cachedInputTokens ?? 0) + (cacheWriteInputTokens ?? 0);
  return defined({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens === void 0 || outputTokens === void 0 ? void 0 : inputTokens + outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    reasoningTokens: isObject2(output_tokens_details) ? count2(output_tokens_details["thinking_tokens"]) : void 0,
    extra: Object.keys(extra).length === 0 ? void 0 : extra
  });
}
function count2(value) {
  return typeof value === "number" ? value : void 0;
}

// ../../src/providers/anthropic/decode-message.ts
function startMessage2(state, message3, out) {
  if (state.started) return;
  state.started = true;
  state.counts = mergeCounts(state.counts, message3.usage);
  takeFacts(state, message3);
  const { requestId, provider } = state.call;
  const { id, model: model2, usage } = message3;
  out.push(
    defined({
      type: "message_started",
      requestId,
      provider,
      id: id ?? void 0,
      model: model2 ?? void 0,
      usage: usage === void 0 || usage === null ? void 0 : parseUsage2(state.counts)
    })
  );
  for (const chunk of state.early) out.push({ type: "raw_chunk", chunk });
  state.early = [];
}
function growMessage(state, { delta, usage, ...rest }) {
  state.counts = mergeCounts(state.counts, usage);
  takeFacts(state, rest);
  if (delta === void 0 || delta === null) return;
  state.stopReason = delta.stop_reason ?? state.stopReason;
  takeFacts(state, delta);
}
function completeMessage2(state, out) {
  for (const block of state.blocks) if (!block.closed) closeBlock2(state, block, out);
  const parts2 = state.blocks.flatMap(({ part: part2 }) => part2 ?? []);
  const calls = state.blocks.flatMap(({ call: call2 }) => call2 ?? []);
  const { stopReason, counts } = state;
  const metadata2 = responseMetadata(state);
  state.done = true;
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(parts2, calls),
      finishReason: finishReason(state, calls.length),
      rawFinishReason: stopReason,
      usage: Object.keys(counts).length === 0 ? void 0 : parseUsage2(counts),
      metadata: Object.keys(metadata2).length === 0 ? void 0 : metadata2
    })
  );
}
function finishReason({ stopReason, metadata: metadata2 }, calls) {
  const reason = parseFinishReason(stopReason);
  if (reason === "tool_calls" && calls === 0 && metadata2["structuredOutput"] === "tool")
    return "stop";
  return reason === "stop" && calls > 0 ? "tool_calls" : reason;
}
var factNames = [
  ["stop_sequence", "stopSequence"],
  ["stop_details", "stopDetails"],
  ["container", "container"],
  ["context_management", "contextManagement"],
  ["diagnostics", "diagnostics"],
  ["input_transformations", "inputTransformations"]
];
function takeFacts({ metadata: metadata2 }, from) {
  for (const [wire, name2] of factNames) {
    const value = from[wire];
    if (value !== void 0 && value !== null) metadata2[name2] = value;
  }
}
function responseMetadata({ call: call2, metadata: metadata2, citations, serverTools }) {
  const { adjusted, providerRequestId } = call2;
  return defined({
    ...metadata2,
    citations: citations.length === 0 ? void 0 : citations,
    serverTools: serverTools.length === 0 ? void 0 : serverTools,
    adjusted: adjusted.length === 0 ? void 0 : adjusted,
    providerRequestId
  });
}

// ../../src/providers/anthropic/whole-message.ts
function eventsOfMessage(value) {
  if (typeof value !== "object" || value === null) return void 0;
  const message3 = value;
  if (message3.type === "error" || message3.content === void 0 && message3.error !== void 0) {
    return [{ ...message3, type: "error" }];
  }
  const { content: content2, stop_reason, ...head } = message3;
  if (!Array.isArray(content2)) return void 0;
  const blocks = content2.flatMap((content_block, index) => [
    { type: "content_block_start", index, content_block },
    { type: "content_block_stop", index }
  ]);
  return [
    { type: "message_start", message: head },
    ...blocks,
    {
      type: "message_delta",
      ...typeof stop_reason === "string" ? { delta: { stop_reason } } : {}
    },
    { type: "message_stop" }
  ];
}

// ../../src/providers/anthropic/message-decoder.ts
function messageDecoder(call2) {
  const state = decoderState(call2);
  return {
    get done() {
      return state.done;
    },
    push(data, name2, out) {
      if (data === "[DONE]" || data === "") return;
      const event = JSON.parse(data);
      if (typeof event !== "object" || event === null) return;
      const type = event.type ?? name2 ?? (event.error ? "error" : void 0);
      if (type === "message") takeWhole(state, event, out);
      else takeEvent2(state, event, type, out);
    },
    take: (event, out) => takeEvent2(state, event, event.type, out),
    end: () => void 0,
    failure: (error) => ({ type: "error", error })
  };
}
function takeWhole(state, message3, out) {
  for (const event of eventsOfMessage(message3) ?? []) takeEvent2(state, event, event.type, out);
}
function takeEvent2(state, event, type, out) {
  if (state.call.includeRawChunks) keepRaw(state, event, out);
  switch (type ?? "") {
    case "content_block_delta":
      begin2(state, out);
      growBlock2(state, event, out);
      return;
    case "content_block_start":
      begin2(state, out);
      startBlock(state, event, out);
      return;
    case "content_block_stop":
      stopBlock(state, event, out);
      return;
    case "message_start":
      startMessage2(state, event.message ?? {}, out);
      return;
    case "message_delta":
      begin2(state, out);
      growMessage(state, event);
      return;
    case "message_stop":
      begin2(state, out);
      completeMessage2(state, out);
      return;
    case "error":
      throw streamError(state, event);
    default:
  }
}
function begin2(state, out) {
  if (!state.started) startMessage2(state, {}, out);
}
function keepRaw(state, event, out) {
  const chunk = event;
  if (state.started) out.push({ type: "raw_chunk", chunk });
  else state.early.push(chunk);
}
function streamError({ call: call2 }, event) {
  const { provider, requestId } = call2;
  const { request_id } = event;
  const error = readError(event.error ?? event.message);
  const { reason, message: message3 } = parseStreamError(error);
  const metadata2 = errorFacts2(error, call2.providerRequestId ?? request_id);
  return new AdapterError(reason, call2.clean(message3), { provider, requestId, metadata: metadata2 });
}

// ../../src/providers/anthropic/response-of.ts
function responseOf(value, status, answer2) {
  const events = eventsOfMessage(value);
  if (events === void 0) {
    const { provider, requestId } = answer2;
    const message3 = `${provider} answered ${status} with something that is no message`;
    throw new AdapterError("malformed_response", message3, { provider, requestId, status });
  }
  const decoder = messageDecoder(answer2);
  const out = [];
  for (const event of events) decoder.take(event, out);
  return collectEventsSync(out);
}

// ../../src/providers/anthropic/anthropic.ts
function anthropic(options = {}) {
  const settings = anthropicSettings(options);
  const { provider, keyRequired } = settings;
  const { apiKey: ownKey } = options;
  return {
    provider,
    needsModel: true,
    key: { required: keyRequired, own: ownKey !== void 0 && ownKey !== "" },
    stream(request2, callOptions2 = {}) {
      const answer2 = expectedAnswer(provider, callOptions2);
      const plan = { settings, request: request2, options: { ...callOptions2, ownKey }, answer: answer2 };
      return streamSse(() => callFor(plan, true), messageDecoder(answer2));
    },
    async generate(request2, callOptions2 = {}) {
      const answer2 = expectedAnswer(provider, callOptions2);
      const plan = { settings, request: request2, options: { ...callOptions2, ownKey }, answer: answer2 };
      const { value, status } = await postForJson(await callFor(plan, false));
      return responseOf(value, status, answer2);
    }
  };
}
function expectedAnswer(provider, options) {
  return {
    provider,
    requestId: options.requestId ?? (options.newId ?? randomId)("request"),
    includeRawChunks: options.includeRawChunks === true,
    adjusted: [],
    clean: (text3) => text3
  };
}

// ../../src/providers/gemini/call-key.ts
function callKey(settings, apiKey) {
  const given = apiKey ?? "";
  const key = given.trim() === "" ? settings.ownKey() : given;
  if (key !== void 0 || !settings.key.required) return key;
  const { provider } = settings;
  const message3 = `no key for ${provider}: give the call or the adapter an apiKey`;
  throw new EngineError("missing_key", message3, { provider });
}

// ../../src/providers/gemini/load-images.ts
var maxBytes = 75 * 1024 * 1024;
var mimeTypes2 = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/heic",
  "image/heif"
];
function loadImages(request2, provider) {
  if (!hasImages(request2)) return Promise.resolve(request2);
  return resolveImages(request2, { provider, maxBytes, mimeTypes: mimeTypes2 });
}

// ../../src/providers/gemini/method-url.ts
function methodUrl(settings, model2, method) {
  const { provider, baseUrl } = settings;
  if (model2 === void 0 || model2 === "") {
    throw new EngineError("missing_model", `no model for ${provider}`, { provider });
  }
  const path = model2.includes("/") ? model2 : `models/${model2}`;
  const query = method === "streamGenerateContent" ? "?alt=sse" : "";
  return `${baseUrl}/${path.split("/").map(encodeURIComponent).join("/")}:${method}${query}`;
}

// ../../src/providers/gemini/json-kind.ts
function isJsonObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isJsonList(value) {
  return Array.isArray(value);
}

// ../../src/providers/gemini/parse-failure.ts
function parseFailure3(provider, answer2) {
  const { status, body, headers } = answer2;
  const error = errorIn(parseBody2(body));
  if (error === void 0) {
    const message3 = `${provider} answered ${status} without an error that can be read`;
    return defined({
      reason: reasonOf3(status, ""),
      message: message3,
      retryAfterMs: retryAfterMs(headers)
    });
  }
  const failure = failureOf2(provider, error, status);
  const wait = retryAfterMs(headers);
  return wait === void 0 ? failure : { ...failure, retryAfterMs: wait };
}
function errorIn(value) {
  const body = Array.isArray(value) ? value[0] : value;
  const error = isJsonObject(body) ? body["error"] : void 0;
  if (typeof error === "string") return { message: error };
  return isJsonObject(error) ? error : void 0;
}
function failureOf2(provider, error, status = statusOf(error)) {
  const details = Array.isArray(error.details) ? error.details.filter(isJsonObject) : [];
  const text3 = typeof error.message === "string" && error.message !== "" ? error.message : void 0;
  const badKey = details.some((detail) => detail["reason"] === "API_KEY_INVALID");
  return defined({
    reason: badKey ? "authentication_failed" : reasonOf3(status, text3 ?? ""),
    message: text3 ?? `${provider} answered ${status}`,
    status,
    retryAfterMs: retryDelayMs(details),
    metadata: defined({
      googleStatus: typeof error.status === "string" ? error.status : void 0,
      details: details.length === 0 ? void 0 : details
    })
  });
}
var statusOfWord = /* @__PURE__ */ new Map([
  ["INVALID_ARGUMENT", 400],
  ["FAILED_PRECONDITION", 400],
  ["UNAUTHENTICATED", 401],
  ["PERMISSION_DENIED", 403],
  ["NOT_FOUND", 404],
  ["RESOURCE_EXHAUSTED", 429],
  ["CANCELLED", 499],
  ["INTERNAL", 500],
  ["UNAVAILABLE", 503],
  ["DEADLINE_EXCEEDED", 504]
]);
function statusOf({ code, status }) {
  return typeof code === "number" ? code : statusOfWord.get(status) ?? 500;
}
var invalidRequest = /* @__PURE__ */ new Set([404, 405, 409, 411, 413, 415, 422]);
function reasonOf3(status, message3) {
  if (status === 400) return reasonOf400(message3.toLowerCase());
  if (status === 401 || status === 403) return "authentication_failed";
  if (status === 408) return "timeout";
  if (status === 429) return "rate_limited";
  if (invalidRequest.has(status)) return "invalid_request";
  return status >= 500 ? "provider_unavailable" : "unknown";
}
function reasonOf400(message3) {
  if (/api key (?:not valid|not found|expired|invalid)/.test(message3)) {
    return "authentication_failed";
  }
  if (/exceeds the maximum number of tokens|input token count/.test(message3)) {
    return "context_length_exceeded";
  }
  return message3.includes("responsible ai practices") ? "content_filter" : "invalid_request";
}
function retryDelayMs(details) {
  for (const { retryDelay } of details) {
    const match = typeof retryDelay === "string" ? /^(\d+(?:\.\d+)?)s$/.exec(retryDelay) : null;
    if (match !== null) return Math.ceil(Number(match[1]) * 1e3);
  }
  return void 0;
}
function parseBody2(body) {
  try {
    return JSON.parse(body);
  } catch {
    return void 0;
  }
}

// ../../src/providers/gemini/schema-place.ts
function inside(place, ...keys3) {
  let { path } = place;
  for (const key of keys3) {
    path += typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  }
  return { ...place, path };
}
function inexpressible({ provider, path }, problem) {
  const message3 = `${provider} can not be told this schema: ${path} ${problem}`;
  return new AdapterError("unsupported_feature", message3, { provider, metadata: { path } });
}

// ../../src/providers/gemini/merge-schemas.ts
function mergeSchemas(left, right, place) {
  const result = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const known2 = result[key];
    if (known2 === void 0) result[key] = value;
    else result[key] = mergeKeyword(key, known2, value, place);
  }
  return result;
}
var annotations = /* @__PURE__ */ new Set(["title", "description", "default", "example"]);
function mergeKeyword(key, left, right, place) {
  if (annotations.has(key)) return right;
  if (key === "properties" && isJsonObject(left) && isJsonObject(right)) {
    return mergeProperties(left, right, place);
  }
  if (key === "required" && isJsonList(left) && isJsonList(right)) {
    return [.../* @__PURE__ */ new Set([...left, ...right])];
  }
  if (JSON.stringify(left) === JSON.stringify(right)) return left;
  if (key === "additionalProperties") return left !== false && right !== false;
  if (key === "type" && (left === "integer" || right === "integer")) {
    if (left === "number" || right === "number") return "integer";
  }
  throw inexpressible(place, `combines two different values of ${key}`);
}
function mergeProperties(left, right, place) {
  const result = { ...left };
  for (const [name2, schema] of Object.entries(right)) {
    const known2 = result[name2];
    const both = isJsonObject(known2) && isJsonObject(schema);
    result[name2] = both ? mergeSchemas(known2, schema, inside(place, "properties", name2)) : schema;
  }
  return result;
}

// ../../src/providers/gemini/open-api-schema.ts
function openApiSchema(schema, place) {
  const { nullable, type, choices } = alternatives(schema, place);
  const [only] = choices;
  const alone = choices.length === 1 && only !== void 0;
  if (type === void 0 && choices.length === 0) {
    if (nullable) return { type: "NULL" };
    throw inexpressible(place, "admits values of any type");
  }
  return {
    ...alone ? only : {},
    ...typed2(schema, type, place),
    ...choices.length > 1 ? { anyOf: choices } : {},
    ...nullable ? { nullable: true } : {}
  };
}
function alternatives(schema, place) {
  const { type, anyOf } = schema;
  const written = (isJsonList(type) ? type : [type ?? typeByMembers(schema)]).filter(
    (name2) => typeof name2 === "string"
  );
  const types = written.filter((name2) => name2 !== "null");
  const members2 = isJsonList(anyOf) ? anyOf.filter(isJsonObject) : [];
  const valued = members2.filter((member2) => member2["type"] !== "null");
  const nullable = schema["nullable"] === true || types.length < written.length || valued.length < members2.length;
  if (valued.length === 0 && types.length < 2) return { nullable, type: types[0], choices: [] };
  if (valued.length === 0) {
    const choices2 = types.map((name2) => openApiSchema(forType(shared(schema), name2), place));
    return { nullable, type: void 0, choices: choices2 };
  }
  const within2 = inside(place, "anyOf");
  const choices = valued.map((member2, index) => {
    const spot = inside(within2, index);
    return openApiSchema(mergeSchemas(shared(schema), member2, spot), spot);
  });
  return { nullable, type: void 0, choices };
}
function typeByMembers(schema) {
  if ("properties" in schema) return "object";
  return "items" in schema || "prefixItems" in schema ? "array" : null;
}
function shared(schema) {
  const { anyOf: _anyOf, nullable: _nullable, ...rest } = schema;
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !annotations2.has(key)));
}
function forType(schema, type) {
  const { enum: values, ...rest } = schema;
  if (!isJsonList(values)) return { ...rest, type };
  const own = values.filter((value) => type === "string" === (typeof value === "string"));
  return { ...rest, type, ...own.length === 0 ? {} : { enum: own } };
}
var annotations2 = /* @__PURE__ */ new Set(["title", "description", "default", "example"]);
var keywordsOf = {
  string: ["minLength", "maxLength", "pattern"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
  array: ["minItems", "maxItems"],
  object: ["minProperties", "maxProperties", "propertyOrdering"]
};
var formatsOf = {
  string: ["date-time", "enum"],
  number: ["float", "double"],
  integer: ["int32", "int64"]
};
function typed2(schema, type, place) {
  const result = {};
  const legal = type === void 0 ? [] : keywordsOf[type] ?? [];
  for (const [key, value] of Object.entries(schema)) {
    if (annotations2.has(key) || legal.includes(key)) result[key] = value;
  }
  if (type === void 0) return result;
  result["type"] = type.toUpperCase();
  const { format } = schema;
  if (typeof format === "string" && formatsOf[type]?.includes(format) === true) {
    result["format"] = format;
  }
  return {
    ...result,
    ...listed(schema, type),
    ...type === "array" ? listMembers(schema, place) : {},
    ...type === "object" ? objectMembers(schema, place) : {}
  };
}
function listed({ enum: values, description }, type) {
  if (!isJsonList(values)) return {};
  if (type === "string") return { enum: values.map(String) };
  const words2 = `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
  return { description: typeof description === "string" ? `${description} (${words2})` : words2 };
}
function listMembers(schema, place) {
  if (schema["prefixItems"] !== void 0) throw inexpressible(place, "is a tuple");
  const { items } = schema;
  if (!isJsonObject(items)) throw inexpressible(place, "is a list of values of any type");
  return { items: openApiSchema(items, inside(place, "items")) };
}
function objectMembers(schema, place) {
  const { properties, required, additionalProperties } = schema;
  if (isJsonObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    throw inexpressible(place, "has members whose names are not known");
  }
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return {};
  const members2 = Object.entries(properties).map(([name2, member2]) => [
    name2,
    isJsonObject(member2) ? openApiSchema(member2, inside(place, "properties", name2)) : member2
  ]);
  const known2 = isJsonList(required) ? required.filter((name2) => typeof name2 === "string" && Object.hasOwn(properties, name2)) : [];
  return {
    properties: Object.fromEntries(members2),
    ...known2.length === 0 ? {} : { required: known2 }
  };
}

// ../../src/providers/gemini/resolve-ref.ts
function resolveRef(root, ref, place) {
  const pointer = typeof ref === "string" ? decode(ref) : void 0;
  if (pointer !== "#" && pointer?.startsWith("#/") !== true) {
    throw inexpressible(place, `refers to ${JSON.stringify(ref)}, which is outside the schema`);
  }
  let target = root;
  for (const step of pointer.split("/").slice(1)) {
    target = member(target, step.replaceAll("~1", "/").replaceAll("~0", "~"));
  }
  if (target === void 0) throw inexpressible(place, `refers to ${pointer}, which does not exist`);
  return target;
}
function member(value, key) {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return void 0;
  return value[key];
}
function decode(ref) {
  try {
    return decodeURIComponent(ref);
  } catch {
    return void 0;
  }
}

// ../../src/providers/gemini/plain-schema.ts
function plainSchema(schema, place) {
  return visit(schema, place, { root: schema, refs: [], size: { nodes: 0 } });
}
var maxNodes = 5e3;
var refused = [
  "not",
  "if",
  "then",
  "else",
  "patternProperties",
  "dependentSchemas",
  "$dynamicRef",
  "$recursiveRef"
];
var copied = [
  "type",
  "title",
  "description",
  "default",
  "example",
  "format",
  "required",
  "propertyOrdering",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "pattern",
  "nullable"
];
function visit(node, place, walk) {
  if (node === true) return {};
  if (!isJsonObject(node)) throw inexpressible(place, "admits no value");
  walk.size.nodes++;
  if (walk.size.nodes > maxNodes)
    throw inexpressible(place, "is too large with its references inlined");
  const { $ref, allOf, ...rest } = node;
  const bases = visitList(allOf, inside(place, "allOf"), walk);
  if ($ref !== void 0) bases.unshift(visitRef($ref, place, walk));
  return [...bases, visitOwn(rest, place, walk)].reduce(
    (left, right) => mergeSchemas(left, right, place)
  );
}
function visitRef(ref, place, walk) {
  const target = resolveRef(walk.root, ref, place);
  const name2 = JSON.stringify(ref);
  if (walk.refs.includes(name2) || target === walk.root) {
    throw inexpressible(place, `is recursive: ${name2} holds itself`);
  }
  return visit(target, place, { ...walk, refs: [...walk.refs, name2] });
}
function visitOwn(node, place, walk) {
  for (const key of refused) {
    if (key in node) throw inexpressible(place, `uses ${key}`);
  }
  const result = {};
  for (const key of copied) {
    const value = node[key];
    if (value !== void 0) result[key] = value;
  }
  const { properties, items, prefixItems, additionalProperties, anyOf, oneOf: oneOf3 } = node;
  if (anyOf !== void 0 && oneOf3 !== void 0) throw inexpressible(place, "has anyOf and oneOf");
  if (isJsonObject(properties)) result["properties"] = visitProperties(properties, place, walk);
  const tuple = prefixItems ?? (isJsonList(items) ? items : void 0);
  if (tuple !== void 0) {
    result["prefixItems"] = visitList(tuple, inside(place, "prefixItems"), walk);
  }
  if (items !== void 0 && !isJsonList(items) && items !== false) {
    result["items"] = visit(items, inside(place, "items"), walk);
  }
  if (additionalProperties !== void 0) {
    const within2 = inside(place, "additionalProperties");
    result["additionalProperties"] = typeof additionalProperties === "boolean" ? additionalProperties : visit(additionalProperties, within2, walk);
  }
  const choices = anyOf ?? oneOf3;
  if (choices !== void 0) result["anyOf"] = visitList(choices, inside(place, "anyOf"), walk);
  return withValues(result, node, place);
}
function visitProperties(properties, place, walk) {
  return Object.fromEntries(
    Object.entries(properties).map(([name2, schema]) => [
      name2,
      visit(schema, inside(place, "properties", name2), walk)
    ])
  );
}
function visitList(list, place, walk) {
  if (!isJsonList(list)) return [];
  return list.map((member2, index) => visit(member2, inside(place, index), walk));
}
function withValues(schema, node, place) {
  const values = node["const"] === void 0 ? node["enum"] : [node["const"]];
  if (!isJsonList(values)) return schema;
  const { type: written, ...rest } = schema;
  const types = [...new Set(values.map((value) => typeOf(value, place)))];
  const type = written ?? oneOrAll(types);
  const listed2 = values.filter((value) => typeof value === "string" || typeof value === "number");
  if (listed2.length === 0 || types.includes("boolean")) return { ...rest, type };
  const valued = types.filter((name2) => name2 !== "null");
  const nullable = valued.length < types.length && JSON.stringify(type).includes('"null"');
  if (!nullable) return { ...rest, type, enum: listed2 };
  if ("anyOf" in rest) return { ...rest, type };
  return { ...rest, anyOf: [{ type: oneOrAll(valued), enum: listed2 }, { type: "null" }] };
}
function oneOrAll(types) {
  const [only = "null", ...others] = types;
  return others.length === 0 ? only : types;
}
function typeOf(value, place) {
  if (value === null) return "null";
  if (typeof value === "object") throw inexpressible(place, "lists a value that is no scalar");
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

// ../../src/providers/gemini/thinking-config.ts
function thinkingConfig({ effort, summary }, family) {
  const thoughts = summary === true ? { includeThoughts: true } : {};
  if (family.version >= 300) return { thinkingLevel: levelOf(effort, family), ...thoughts };
  if (family.version < 205 && effort === "none") return void 0;
  return { thinkingBudget: budgetOf(effort, family), ...thoughts };
}
function levelOf(effort, family) {
  switch (effort) {
    case "none":
    case "minimal":
      return family.tier === "flash" && family.version <= 306 ? "MINIMAL" : "LOW";
    case "low":
      return "LOW";
    case "medium":
      return family.tier === "pro" && family.version === 300 ? "HIGH" : "MEDIUM";
    case "high":
    case "max":
      return "HIGH";
    default:
      return assertNever(effort);
  }
}
function budgetOf(effort, { tier }) {
  switch (effort) {
    case "none":
      return tier === "pro" ? 128 : 0;
    case "minimal":
      return 512;
    case "low":
      return 1024;
    case "medium":
      return 8192;
    case "high":
      return 24576;
    case "max":
      return tier === "pro" ? 32768 : 24576;
    default:
      return assertNever(effort);
  }
}

// ../../src/providers/gemini/render-config.ts
function renderConfig(request2, target) {
  const { temperature, maxTokens, responseFormat: responseFormat2, reasoning } = request2;
  return {
    ...defined({
      temperature,
      maxOutputTokens: maxTokens,
      thinkingConfig: reasoning && thinkingConfig(reasoning, target.family)
    }),
    ...responseFormat2 === void 0 ? {} : renderFormat2(responseFormat2, target)
  };
}
function renderFormat2(format, { provider, schemas }) {
  const responseMimeType = "application/json";
  switch (format.type) {
    case "text":
      return {};
    case "json_object":
      return { responseMimeType };
    case "json_schema": {
      const place = { provider, path: "responseFormat.schema" };
      const plain2 = plainSchema(format.schema, place);
      return schemas === "json_schema" ? { responseMimeType, responseJsonSchema: plain2 } : { responseMimeType, responseSchema: openApiSchema(plain2, place) };
    }
    default:
      return assertNever(format);
  }
}

// ../../src/providers/gemini/opaque.ts
function signatureOfPrevious(thoughtSignature) {
  return { thoughtSignature, on: "previous" };
}
function wholePart(part2) {
  return { part: part2 };
}
function echoOf({ text: text3, opaque }) {
  if (typeof opaque === "string") return { type: "thought", text: text3, signature: opaque };
  if (isJsonObject(opaque)) {
    const { thoughtSignature, on, part: part2 } = opaque;
    if (isJsonObject(part2)) return { type: "part", part: part2 };
    if (typeof thoughtSignature === "string" && on === "previous") {
      return { type: "signature", signature: thoughtSignature };
    }
  }
  return { type: "thought", text: text3 };
}
function callOpaque(echo) {
  return Object.keys(echo).length === 0 ? void 0 : { ...echo };
}
function callEchoOf(opaque) {
  if (!isJsonObject(opaque)) return {};
  const { thoughtSignature, sentId } = opaque;
  return {
    ...typeof thoughtSignature === "string" ? { thoughtSignature } : {},
    ...typeof sentId === "string" || sentId === null ? { sentId } : {}
  };
}

// ../../src/providers/gemini/render-image.ts
var endings2 = /* @__PURE__ */ new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["webp", "image/webp"],
  ["gif", "image/gif"],
  ["heic", "image/heic"],
  ["heif", "image/heif"]
]);
function renderImage2(image2, path) {
  switch (image2.type) {
    case "base64":
      return { inlineData: { mimeType: image2.mimeType, data: image2.base64 } };
    case "url": {
      const mimeType = image2.mimeType ?? endings2.get(endingOf(image2.url));
      return { fileData: { ...mimeType === void 0 ? {} : { mimeType }, fileUri: image2.url } };
    }
    case "file": {
      const problem = "is a file that has not been read";
      throw new ValidationError("invalid_request", [{ path, problem }]);
    }
    default:
      return assertNever(image2);
  }
}
function endingOf(url2) {
  const path = /^[^?#]*/.exec(url2)?.[0] ?? "";
  return path.slice(path.lastIndexOf(".") + 1).toLowerCase();
}

// ../../src/providers/gemini/render-assistant.ts
function renderAssistant4(message3, path, target) {
  const { content: content2, toolCalls = [] } = message3;
  const parts2 = [];
  if (typeof content2 === "string") {
    if (content2 !== "") parts2.push({ text: content2 });
  } else {
    for (const [index, part2] of content2.entries()) {
      if (part2.type === "image") parts2.push(renderImage2(part2.image, `${path}.content[${index}]`));
      else if (part2.type === "reasoning") {
        if (part2.provider === target.provider) addReasoning(parts2, part2);
      } else if (part2.text !== "") parts2.push({ text: part2.text });
    }
  }
  return [...parts2, ...renderCalls(toolCalls, target)];
}
function addReasoning(parts2, reasoning) {
  const echo = echoOf(reasoning);
  switch (echo.type) {
    case "thought": {
      const { text: text3, signature } = echo;
      if (text3 === "" && signature === void 0) return;
      const signed = signature === void 0 ? {} : { thoughtSignature: signature };
      parts2.push({ text: text3, thought: true, ...signed });
      return;
    }
    case "signature": {
      const previous = parts2.at(-1);
      const gone = previous === void 0 || "thought" in previous || "thoughtSignature" in previous;
      if (gone) parts2.push({ text: "", thoughtSignature: echo.signature });
      else parts2.splice(-1, 1, { ...previous, thoughtSignature: echo.signature });
      return;
    }
    case "part":
      parts2.push(echo.part);
      return;
    default:
      assertNever(echo);
  }
}
var signatureOfForeignCalls = "skip_thought_signature_validator";
function renderCalls(calls, { family }) {
  const signed = calls.some(({ opaque }) => callEchoOf(opaque).thoughtSignature !== void 0);
  const needsSignature = family.gemini && family.version >= 300 && !signed;
  return calls.map((call2, index) => {
    const own = callEchoOf(call2.opaque).thoughtSignature;
    const thoughtSignature = needsSignature && index === 0 ? signatureOfForeignCalls : own;
    return {
      functionCall: { ...wireId(call2), name: call2.name, args: call2.arguments },
      ...thoughtSignature === void 0 ? {} : { thoughtSignature }
    };
  });
}
function wireId({ id, opaque }) {
  const { sentId } = callEchoOf(opaque);
  if (sentId === null) return {};
  return { id: sentId ?? id };
}

// ../../src/providers/gemini/render-tool-results.ts
function renderToolResults(results, calls, target) {
  const answers = results.map((result) => {
    const order = calls.findIndex(({ id }) => id === result.message.toolCallId);
    return { result, order, call: calls[order] };
  });
  answers.sort((left, right) => left.order - right.order);
  return answers.flatMap(({ result, call: call2 }) => {
    if (call2 === void 0) throw unasked(result);
    return renderResult(result, call2, target);
  });
}
function renderResult({ message: message3, path }, call2, { family }) {
  const inside2 = [];
  const beside = [];
  const parts2 = typeof message3.content === "string" ? [] : message3.content;
  for (const [index, part2] of parts2.entries()) {
    if (part2.type !== "image") continue;
    const image2 = renderImage2(part2.image, `${path}.content[${index}]`);
    if (family.version >= 300 && part2.image.type === "base64") inside2.push(image2);
    else beside.push(image2);
  }
  const functionResponse = {
    ...wireId(call2),
    name: call2.name,
    response: { output: messageText(message3) },
    ...inside2.length === 0 ? {} : { parts: inside2 }
  };
  return [{ functionResponse }, ...beside];
}
function unasked({ message: message3, path }) {
  const problem = `answers ${JSON.stringify(message3.toolCallId)}, which the turn before did not call`;
  return new ValidationError("invalid_thread", [{ path: `${path}.toolCallId`, problem }]);
}

// ../../src/providers/gemini/render-contents.ts
function renderContents(messages2, target) {
  const system2 = [];
  const turns = [];
  let calls = [];
  let results = [];
  const flush = () => {
    add(turns, "user", renderToolResults(results, calls, target));
    results = [];
  };
  for (const [index, message3] of messages2.entries()) {
    const path = `messages[${index}]`;
    if (message3.role !== "tool") flush();
    switch (message3.role) {
      case "system":
        if (messageText(message3) !== "") system2.push({ text: messageText(message3) });
        break;
      case "user":
        add(turns, "user", renderUser(message3, path));
        break;
      case "assistant":
        calls = message3.toolCalls ?? [];
        add(turns, "model", renderAssistant4(message3, path, target));
        break;
      case "tool":
        results.push({ message: message3, path });
        break;
      default:
        assertNever(message3.role);
    }
  }
  flush();
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", parts: [{ text: " " }] });
  return { system: system2, contents: turns.map(({ role, parts: parts2 }) => ({ role, parts: parts2 })) };
}
function add(turns, role, parts2) {
  if (parts2.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.parts.push(...parts2);
  else turns.push({ role, parts: [...parts2] });
}
function renderUser({ content: content2 }, path) {
  if (typeof content2 === "string") return content2 === "" ? [] : [{ text: content2 }];
  const parts2 = [];
  for (const [index, part2] of content2.entries()) {
    if (part2.type === "image") parts2.push(renderImage2(part2.image, `${path}.content[${index}]`));
    else if (part2.type === "text" && part2.text !== "") parts2.push({ text: part2.text });
  }
  return parts2;
}

// ../../src/providers/gemini/model-family.ts
var named = /^gemini-(?:(\d+)(?:\.(\d+))?(?:-|$))?/;
function modelFamily2(model2) {
  const name2 = model2.slice(model2.lastIndexOf("/") + 1);
  const match = named.exec(name2);
  const [, major, minor = "0"] = match ?? [];
  return {
    version: major === void 0 ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor),
    tier: name2.includes("flash") ? "flash" : name2.includes("pro") ? "pro" : "other",
    gemini: match !== null
  };
}

// ../../src/providers/gemini/render-target.ts
function renderTarget(model2, options = {}) {
  const { provider = "gemini", baseUrl = "" } = options;
  const family = modelFamily2(model2);
  const old = family.version < 205 || baseUrl.endsWith("/v1");
  return { provider, family, schemas: old ? "open_api" : "json_schema" };
}

// ../../src/providers/gemini/render-tools.ts
function renderTools2(tools3, target) {
  const functionDeclarations = tools3.map(({ name: name2, description, schema }, index) => ({
    name: name2,
    description,
    ...renderParameters(schema, `tools[${index}].schema`, target)
  }));
  return [{ functionDeclarations }];
}
function renderParameters(schema, path, { provider, schemas }) {
  const place = { provider, path };
  const plain2 = { type: "object", ...plainSchema(schema, place) };
  if (takesNothing(plain2)) return {};
  return schemas === "json_schema" ? { parametersJsonSchema: plain2 } : { parameters: openApiSchema(plain2, place) };
}
function takesNothing({ properties, additionalProperties, anyOf }) {
  const named2 = isJsonObject(properties) && Object.keys(properties).length > 0;
  const others = additionalProperties === true || isJsonObject(additionalProperties);
  return !named2 && !others && anyOf === void 0;
}
function renderToolChoice(choice) {
  switch (choice) {
    case "auto":
      return { functionCallingConfig: { mode: "AUTO" } };
    case "none":
      return { functionCallingConfig: { mode: "NONE" } };
    case "required":
      return { functionCallingConfig: { mode: "ANY" } };
    default:
      return { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [choice] } };
  }
}

// ../../src/providers/gemini/render-request.ts
function renderRequest3(request2, options = {}) {
  const target = renderTarget(request2.model ?? "", options);
  const { messages: messages2, tools: tools3, toolChoice, providerOptions: providerOptions2 } = request2;
  const { system: system2, contents } = renderContents(messages2, target);
  const config = renderConfig(request2, target);
  const body = {
    ...system2.length === 0 ? {} : { systemInstruction: { parts: system2 } },
    contents,
    ...tools3.length === 0 ? {} : { tools: renderTools2(tools3, target) },
    ...tools3.length === 0 || toolChoice === void 0 ? {} : { toolConfig: renderToolChoice(toolChoice) },
    ...Object.keys(config).length === 0 ? {} : { generationConfig: config }
  };
  const { gemini: shared2 = {} } = providerOptions2;
  const own = target.provider === "gemini" ? {} : providerOptions2[target.provider] ?? {};
  return mergeBody2(mergeBody2(body, shared2), own);
}
function mergeBody2(body, extra) {
  const merged2 = mergeObjects(body, extra);
  const { tools: tools3 } = body;
  const { tools: added } = extra;
  return isJsonList(tools3) && isJsonList(added) ? { ...merged2, tools: [...tools3, ...added] } : merged2;
}
function mergeObjects(left, right) {
  const result = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const known2 = result[key];
    const both = isJsonObject(known2) && isJsonObject(value);
    result[key] = both ? mergeObjects(known2, value) : value;
  }
  return result;
}

// ../../src/providers/gemini/split-json.ts
var quote = 34;
var backslash = 92;
var openBrace = 123;
var closeBrace = 125;
function jsonSplitter(limit = maxBufferedCharacters) {
  let pieces = [];
  let size = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;
  const step = (code) => {
    if (escaped) escaped = false;
    else if (inString) {
      if (code === backslash) escaped = true;
      else if (code === quote) inString = false;
    } else if (code === quote) inString = depth > 0;
    else if (code === openBrace) depth++;
    else if (code === closeBrace && depth > 0) depth--;
  };
  return {
    feed(chunk, onEvent) {
      let start4 = depth > 0 ? 0 : -1;
      for (let at = 0; at < chunk.length; at++) {
        const before = depth;
        step(chunk.charCodeAt(at));
        if (before === 0 && depth === 1) start4 = at;
        else if (before === 1 && depth === 0) {
          const text3 = pieces.join("") + chunk.slice(start4, at + 1);
          start4 = -1;
          pieces = [];
          size = 0;
          onEvent(text3, void 0);
        }
      }
      if (start4 === -1) return;
      pieces.push(chunk.slice(start4));
      size += chunk.length - start4;
      if (size > limit) throw new RangeError(`an object is longer than ${limit} characters`);
    },
    end(onEvent) {
      if (pieces.length > 0) onEvent(pieces.join(""), void 0);
      pieces = [];
    }
  };
}

// ../../src/providers/gemini/split-body.ts
function bodySplitter(facts2) {
  const events = sseSplitter();
  const objects = jsonSplitter();
  let framing = "unknown";
  let lineStart = true;
  const feedEvents = (chunk, onEvent) => {
    const at = lineStart && chunk.startsWith("{") ? 0 : afterBreak(chunk);
    if (at === -1) {
      lineStart = /[\r\n]$/.test(chunk);
      events.feed(chunk, onEvent);
      return;
    }
    events.feed(chunk.slice(0, at), onEvent);
    events.end(onEvent);
    framing = "objects";
    objects.feed(chunk.slice(at), onEvent);
  };
  return {
    feed(chunk, onEvent) {
      if (framing === "unknown") framing = framingOf(chunk);
      if (framing === "objects") objects.feed(chunk, onEvent);
      else if (chunk !== "") feedEvents(chunk, onEvent);
    },
    end(onEvent) {
      const last = (data, event) => {
        if (!isWhole2(data)) throw cutOff(facts2);
        onEvent(data, event);
      };
      events.end(last);
      objects.end(last);
    }
  };
}
function framingOf(chunk) {
  const text3 = chunk.trimStart();
  if (text3 === "") return "unknown";
  return text3.startsWith("[") || text3.startsWith("{") ? "objects" : "events";
}
function cutOff({ provider, requestId }) {
  const message3 = `the answer of ${provider} ended inside an event`;
  return new StreamError("truncated", message3, { provider, requestId });
}
function afterBreak(chunk) {
  const at = chunk.search(/[\r\n]\{/);
  return at === -1 ? -1 : at + 1;
}
function isWhole2(data) {
  try {
    JSON.parse(data);
    return true;
  } catch {
    return data === "[DONE]" || data === "";
  }
}

// ../../src/providers/gemini/call-for.ts
async function callFor2(settings, request2, options, method) {
  const { provider, headers, fetch } = settings;
  const url2 = methodUrl(settings, request2.model, method);
  const body = renderRequest3(await loadImages(request2, provider), settings);
  const key = callKey(settings, options.apiKey);
  const { requestId, signal: signal2, requestTimeoutMs, streamTimeoutMs, clock } = options;
  return {
    provider,
    requestId,
    url: url2,
    headers: {
      "content-type": "application/json",
      ...key === void 0 ? {} : { "x-goog-api-key": key },
      ...headers
    },
    body: JSON.stringify(body),
    parseFailure: (status, text3, answered) => parseFailure3(provider, { status, body: text3, headers: answered }),
    splitter: () => bodySplitter({ provider, requestId }),
    fetch,
    signal: signal2,
    requestTimeoutMs,
    streamTimeoutMs,
    clock
  };
}

// ../../src/providers/gemini/answer.ts
function newAnswer(provider) {
  return { provider, parts: [], calls: [], open: "none", text: "", continues: false };
}
function addText(answer2, text3, signature, out) {
  if (text3 === "" && signature === void 0) return;
  const joins = signature === void 0 || answer2.continues;
  if (answer2.open !== "text" || !joins) closeBlock3(answer2, out);
  if (text3 !== "") {
    answer2.open = "text";
    answer2.text += text3;
    out.push({ type: "text_delta", delta: text3 });
  }
  if (signature === void 0) return;
  if (answer2.open === "none") {
    addReasoning2(answer2, wholePart({ text: text3, thoughtSignature: signature }), out);
    return;
  }
  closeBlock3(answer2, out);
  addReasoning2(answer2, signatureOfPrevious(signature), out);
}
function addThought(answer2, text3, signature, out) {
  if (text3 === "" && signature === void 0) return;
  const joins = signature === void 0 || answer2.continues && text3 === "";
  if (answer2.open !== "thought" || !joins) closeBlock3(answer2, out);
  if (text3 !== "") {
    answer2.open = "thought";
    answer2.text += text3;
    out.push({ type: "reasoning_delta", delta: text3 });
  }
  if (signature === void 0) return;
  const whole = answer2.text;
  answer2.open = "none";
  answer2.text = "";
  addReasoning2(answer2, signature, out, whole);
}
function addImage3(answer2, image2, signature, out) {
  closeBlock3(answer2, out);
  answer2.parts.push({ type: "image", image: image2 });
  out.push({ type: "image_completed", image: image2 });
  if (signature !== void 0) addReasoning2(answer2, signatureOfPrevious(signature), out);
}
function addForeignPart(answer2, part2, out) {
  closeBlock3(answer2, out);
  addReasoning2(answer2, wholePart(part2), out);
}
function closeBlock3(answer2, out) {
  const { open, text: text3 } = answer2;
  if (open === "none") return;
  answer2.open = "none";
  answer2.text = "";
  if (open === "thought") {
    addReasoning2(answer2, void 0, out, text3);
    return;
  }
  answer2.parts.push({ type: "text", text: text3 });
  out.push({ type: "text_completed", text: text3 });
}
function addReasoning2(answer2, opaque, out, text3 = "") {
  const { provider } = answer2;
  answer2.parts.push(defined({ type: "reasoning", text: text3, opaque, provider }));
  out.push(
    defined({
      type: "reasoning_completed",
      text: text3,
      opaque
    })
  );
}

// ../../src/providers/gemini/finish-reason.ts
var meanings = /* @__PURE__ */ new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["CONTINUATION", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["MODEL_ARMOR", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
  ["MALFORMED_FUNCTION_CALL", "error"],
  ["UNEXPECTED_TOOL_CALL", "error"],
  ["TOO_MANY_TOOL_CALLS", "error"],
  ["MISSING_THOUGHT_SIGNATURE", "error"],
  ["MALFORMED_RESPONSE", "error"]
]);
function finishReasonOf(word, hasCalls) {
  const meaning = meanings.get(word) ?? "other";
  return meaning === "stop" && hasCalls ? "tool_calls" : meaning;
}

// ../../src/providers/gemini/parse-usage.ts
function parseUsage3(counts) {
  const answer2 = count3(counts["candidatesTokenCount"]);
  const thoughts = count3(counts["thoughtsTokenCount"]);
  const silent = answer2 === void 0 && thoughts === void 0;
  return defined({
    inputTokens: count3(counts["promptTokenCount"]),
    outputTokens: silent ? void 0 : (answer2 ?? 0) + (thoughts ?? 0),
    totalTokens: count3(counts["totalTokenCount"]),
    cachedInputTokens: count3(counts["cachedContentTokenCount"]),
    reasoningTokens: thoughts,
    extra: extraCounts(counts)
  });
}
var mapped = /* @__PURE__ */ new Set([
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "totalTokenCount",
  "cachedContentTokenCount"
]);
function extraCounts(counts) {
  const extra = Object.entries(counts).filter(([key]) => !mapped.has(key));
  return extra.length === 0 ? void 0 : Object.fromEntries(extra);
}
function count3(value) {
  return typeof value === "number" ? value : void 0;
}

// ../../src/providers/gemini/complete-message.ts
function completeMessage3(decoding, finish3, out) {
  const { answer: answer2, calls, metadata: metadata2, usage } = decoding;
  calls.close(out);
  closeBlock3(answer2, out);
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(answer2.parts, answer2.calls),
      finishReason: finishReasonOf(finish3, answer2.calls.length > 0),
      rawFinishReason: finish3,
      usage: usage === void 0 ? void 0 : parseUsage3(usage),
      metadata: Object.keys(metadata2).length === 0 ? void 0 : metadata2
    })
  );
}

// ../../src/providers/gemini/answer-metadata.ts
function noteCandidate(metadata2, candidate) {
  for (const key in candidate) {
    if (candidate[key] === null) continue;
    switch (key) {
      case "content":
      case "finishReason":
      case "index":
        break;
      case "citationMetadata":
      case "logprobsResult":
        appendLists(metadata2, key, candidate[key]);
        break;
      default:
        metadata2[key] = merged(metadata2[key], fromWire(candidate[key]));
    }
  }
}
function noteAnswer(metadata2, answer2) {
  for (const key of ["promptFeedback", "modelStatus", "createTime"]) {
    const value = answer2[key];
    if (value !== void 0 && value !== null) metadata2[key] = fromWire(value);
  }
}
function appendLists(metadata2, key, value) {
  const next2 = fromWire(value);
  if (!isJsonObject(next2)) return;
  const known2 = metadata2[key];
  const target = isJsonObject(known2) ? known2 : {};
  metadata2[key] = target;
  for (const [name2, member2] of Object.entries(next2)) {
    const list = target[name2];
    if (!isList(member2)) target[name2] = member2;
    else if (isList(list)) for (const item of member2) list.push(item);
    else target[name2] = [...member2];
  }
}
function merged(known2, next2) {
  return isJsonObject(known2) && isJsonObject(next2) ? { ...known2, ...next2 } : next2;
}
function isList(value) {
  return Array.isArray(value);
}
function fromWire(value) {
  return value;
}

// ../../src/providers/gemini/decode-part.ts
function decodePart({ answer: answer2, calls }, part2, out) {
  const { text: text3, thoughtSignature } = part2;
  const signature = typeof thoughtSignature === "string" && thoughtSignature !== "" ? thoughtSignature : void 0;
  if (typeof text3 === "string") {
    if (part2.thought === true) addThought(answer2, text3, signature, out);
    else addText(answer2, text3, signature, out);
    return;
  }
  if (part2.functionCall) {
    calls.add(part2.functionCall, signature, out);
    return;
  }
  const { mimeType, data } = part2.inlineData ?? {};
  const picture = typeof data === "string" && mimeType?.startsWith("image/") === true;
  if (picture && part2.thought !== true) {
    addImage3(answer2, { type: "base64", base64: data, mimeType }, signature, out);
  } else {
    addForeignPart(answer2, part2, out);
  }
}

// ../../src/providers/gemini/wire-error.ts
function reportedError2(answer2, facts2) {
  const { provider, requestId, hideKey } = facts2;
  const error = JSON.parse(hideKey(JSON.stringify(answer2.error)));
  const known2 = errorIn({ error }) ?? { message: String(error) };
  const { reason, message: message3, ...details } = failureOf2(provider, known2);
  return new AdapterError(reason, message3, { provider, requestId, ...details });
}
function blockedPrompt(answer2, facts2) {
  const { provider, requestId } = facts2;
  const { promptFeedback = {}, usageMetadata } = answer2;
  const { blockReason, blockReasonMessage } = promptFeedback;
  const words2 = typeof blockReasonMessage === "string" ? ` (${blockReasonMessage})` : "";
  const message3 = `${provider} blocked the prompt: ${JSON.stringify(blockReason)}${words2}`;
  const usage = usageMetadata === void 0 ? {} : { usageMetadata };
  const metadata2 = { promptFeedback, ...usage };
  return new AdapterError("content_filter", message3, { provider, requestId, metadata: metadata2 });
}
function malformedAnswer(facts2, cause) {
  const { provider, requestId } = facts2;
  const message3 = `${provider} answered without a candidate that has a finish reason`;
  return new AdapterError("malformed_response", message3, { provider, requestId, cause });
}

// ../../src/providers/gemini/decode-chunk.ts
function decodeChunk(decoding, value, out) {
  if (Array.isArray(value)) {
    for (const item of value) decodeChunk(decoding, item, out);
    return;
  }
  if (!isJsonObject(value)) throw new SyntaxError("it is not an object");
  const chunk = value;
  if (chunk.error) throw reportedError2(chunk, decoding.facts);
  if (isJsonObject(chunk.usageMetadata)) decoding.usage = chunk.usageMetadata;
  const candidate = firstCandidate(chunk.candidates);
  if (candidate === void 0 && typeof chunk.promptFeedback?.["blockReason"] === "string") {
    throw blockedPrompt(chunk, decoding.facts);
  }
  if (!decoding.started) {
    if (candidate === void 0) return;
    start3(decoding, chunk, out);
  }
  if (decoding.includeRawChunks) out.push({ type: "raw_chunk", chunk });
  noteAnswer(decoding.metadata, chunk);
  if (candidate !== void 0) decodeCandidate(decoding, candidate, out);
}
function decodeCandidate(decoding, candidate, out) {
  const parts2 = candidate.content?.parts;
  if (Array.isArray(parts2)) {
    const { answer: answer2 } = decoding;
    answer2.continues = true;
    for (const part2 of parts2) {
      if (isJsonObject(part2)) decodePart(decoding, part2, out);
      answer2.continues = false;
    }
  }
  const { finishReason: finishReason2 } = candidate;
  if (typeof finishReason2 === "string" && finishReason2 !== "") decoding.finish = finishReason2;
  noteCandidate(decoding.metadata, candidate);
}
function start3(decoding, chunk, out) {
  const { facts: facts2, usage } = decoding;
  const { provider, requestId } = facts2;
  decoding.started = true;
  decoding.id = text2(chunk.responseId);
  out.push(
    defined({
      type: "message_started",
      requestId,
      provider,
      id: decoding.id,
      model: text2(chunk.modelVersion),
      usage: usage === void 0 ? void 0 : parseUsage3(usage)
    })
  );
}
function firstCandidate(candidates) {
  if (!Array.isArray(candidates)) return void 0;
  for (const candidate of candidates) {
    if (isJsonObject(candidate) && (candidate["index"] ?? 0) === 0) return candidate;
  }
  return void 0;
}
function text2(value) {
  return typeof value === "string" && value !== "" ? value : void 0;
}

// ../../src/providers/gemini/call-ids.ts
function callIds(source) {
  const taken = /* @__PURE__ */ new Set();
  let position = 0;
  let looked = false;
  return (sent) => {
    if (!looked) {
      looked = true;
      for (const { toolCalls = [] } of source.history) for (const { id: id2 } of toolCalls) taken.add(id2);
    }
    const given = typeof sent === "string" && sent !== "" ? sent : void 0;
    let id = given;
    while (id === void 0 || taken.has(id)) {
      position++;
      id = source.newId === void 0 || position > 64 ? madeId(source, position) : source.newId("call");
    }
    taken.add(id);
    return id === given ? { id } : { id, sentId: given ?? null };
  };
}
function madeId({ answerId }, position) {
  const base = answerId().replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 32);
  return `call_${base}_${position}`;
}

// ../../src/providers/gemini/partial-args.ts
function partialArgs() {
  return { root: {}, continuing: void 0 };
}
function addPartialArg(args, piece) {
  const { jsonPath = "$" } = piece;
  const keys3 = parsePath(jsonPath);
  const last = keys3.pop();
  if (last === void 0) throw new SyntaxError(`${jsonPath} is no place inside the arguments`);
  let target = args.root;
  for (const [index, key] of keys3.entries()) {
    target = branchAt(target, key, typeof (keys3[index + 1] ?? last) === "number");
  }
  const before = args.continuing === jsonPath ? read(target, last) : void 0;
  const goesOn = typeof before === "string";
  write(target, last, goesOn ? before + (piece.stringValue ?? "") : valueOf(piece));
  args.continuing = piece.willContinue === true ? jsonPath : void 0;
}
var segment = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;
function parsePath(path) {
  const keys3 = [];
  segment.lastIndex = path.startsWith("$") ? 1 : 0;
  while (segment.lastIndex < path.length) {
    const match = segment.exec(path);
    if (match === null) throw new SyntaxError(`${path} is not a JSON path`);
    const [, name2, index, single, double] = match;
    if (index !== void 0) keys3.push(Number(index));
    else keys3.push(name2 ?? (single ?? double ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return keys3;
}
function valueOf(piece) {
  return piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? null;
}
function branchAt(target, key, list) {
  const known2 = read(target, key);
  if (typeof known2 === "object" && known2 !== null) return known2;
  const branch = list ? [] : {};
  write(target, key, branch);
  return branch;
}
function read(target, key) {
  if (Array.isArray(target)) return typeof key === "number" ? target[key] : void 0;
  return Object.hasOwn(target, key) ? target[key] : void 0;
}
function write(target, key, value) {
  if (!Array.isArray(target)) {
    Object.defineProperty(target, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true
    });
  } else if (typeof key === "number" && key <= target.length) target[key] = value;
  else throw new SyntaxError(`${key} is beyond the list`);
}

// ../../src/providers/gemini/calls.ts
function callReader(answer2, idOf) {
  let open;
  const close = (out) => {
    if (open === void 0) return;
    const { name: name2, args, signature, ...id } = open;
    open = void 0;
    complete2(answer2, toolCall2(name2, args.root, id, signature), out);
  };
  const begin3 = (call2, name2, out) => {
    close(out);
    closeBlock3(answer2, out);
    const id = idOf(call2.id);
    out.push({ type: "tool_call_started", id: id.id, name: name2 });
    return id;
  };
  return {
    close,
    add(call2, signature, out) {
      const { name: name2, partialArgs: pieces, willContinue } = call2;
      if (typeof name2 === "string" && name2 !== "") {
        const id = begin3(call2, name2, out);
        if (!pieces && willContinue !== true) {
          complete2(answer2, toolCall2(name2, call2.args, id, signature), out);
          return;
        }
        open = { ...id, name: name2, args: partialArgs(), signature };
      }
      if (open === void 0) return;
      open.signature ??= signature;
      for (const piece of pieces ?? []) addPartialArg(open.args, piece);
      if (willContinue !== true) close(out);
    }
  };
}
function complete2(answer2, call2, out) {
  answer2.calls.push(call2);
  out.push({ type: "tool_call_completed", call: call2 });
}
function toolCall2(name2, args, { id, sentId }, thoughtSignature) {
  const legal = isJsonObject(args) ? args : {};
  const none4 = args === void 0 || args === null;
  return defined({
    id,
    name: name2,
    arguments: legal,
    rawArguments: none4 || args === legal ? void 0 : JSON.stringify(args),
    opaque: callOpaque(defined({ thoughtSignature, sentId }))
  });
}

// ../../src/providers/gemini/decoding.ts
function newDecoding(options) {
  const { history, newId, includeRawChunks = false, ...facts2 } = options;
  const answer2 = newAnswer(facts2.provider);
  const answerId = () => decoding.id ?? facts2.requestId;
  const decoding = {
    facts: facts2,
    answer: answer2,
    calls: callReader(answer2, callIds({ history, answerId, newId })),
    includeRawChunks,
    metadata: {},
    id: void 0,
    started: false,
    finish: void 0,
    usage: void 0
  };
  return decoding;
}

// ../../src/providers/gemini/decoder.ts
function answerDecoder(options) {
  const decoding = newDecoding(options);
  let done = false;
  let heard = false;
  const accept = (value, out) => {
    heard = true;
    decodeChunk(decoding, value, out);
  };
  const end2 = (out) => {
    if (heard && !decoding.started) throw malformedAnswer(options);
    if (decoding.finish === void 0) return;
    completeMessage3(decoding, decoding.finish, out);
    done = true;
  };
  return {
    end: end2,
    decodeWhole(value, out) {
      try {
        accept(value, out);
        end2(out);
      } catch (error) {
        throw isAllmError(error) ? error : malformedAnswer(options, error);
      }
      if (!done) out.push({ type: "error", error: malformedAnswer(options).toJSON() });
    },
    push(data, _event, out) {
      if (data !== "[DONE]" && data !== "") accept(JSON.parse(data), out);
    },
    get done() {
      return done;
    },
    failure: (error) => ({ type: "error", error })
  };
}

// ../../src/providers/gemini/open-call.ts
function openCall2(settings, request2, given, method) {
  const requestId = given.requestId ?? (given.newId ?? randomId)("request");
  const { provider } = settings;
  let hide;
  const facts2 = { provider, requestId, hideKey: (text3) => hide?.(text3) ?? text3 };
  const { includeRawChunks, newId } = given;
  return {
    decoder: answerDecoder({ ...facts2, history: request2.messages, includeRawChunks, newId }),
    call: async () => {
      const call2 = await callFor2(settings, request2, { ...given, requestId }, method);
      hide = secretFilter(call2.headers);
      return call2;
    }
  };
}

// ../../src/providers/gemini/settings.ts
function settle(options) {
  assertValid("invalid_options", optionIssues2(options));
  const { apiVersion = "v1beta", provider = "gemini", fetch, apiKey } = options;
  const standard = `https://generativelanguage.googleapis.com/${apiVersion}`;
  const baseUrl = (options.baseUrl ?? standard).replace(/\/+$/, "");
  const own = apiKey !== void 0 && apiKey.trim() !== "";
  return {
    provider,
    baseUrl,
    headers: lowerCased2(options.headers ?? {}),
    fetch,
    key: { required: baseUrl === standard, own },
    ownKey: () => own ? apiKey : void 0
  };
}
var optionIssues2 = optionsOf({
  baseUrl: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) => typeof value === "string" ? fine : [{ path: "", problem: "must be a string" }],
  headers: recordOf(text),
  fetch: anyFunction,
  apiVersion: someText,
  provider: someText
});
function lowerCased2(headers) {
  return Object.fromEntries(
    Object.entries(headers).map(([name2, value]) => [name2.toLowerCase(), value])
  );
}

// ../../src/providers/gemini/adapter.ts
function gemini(options = {}) {
  const settings = settle(options);
  const { provider, key } = settings;
  return {
    provider,
    needsModel: true,
    key,
    stream(request2, callOptions2 = {}) {
      const { call: call2, decoder } = openCall2(settings, request2, callOptions2, "streamGenerateContent");
      return streamSse(call2, decoder);
    },
    generate: (request2, callOptions2 = {}) => generate2(settings, request2, callOptions2)
  };
}
async function generate2(settings, request2, options) {
  const { call: call2, decoder } = openCall2(settings, request2, options, "generateContent");
  const { value } = await postForJson(await call2());
  const events = [];
  decoder.decodeWhole(value, events);
  return collectEventsSync(events);
}

// net.mjs
var handler;
var srv = http.createServer((q, r) => {
  q.resume();
  q.on("end", () => handler(q, r));
});
await new Promise((r) => srv.listen(0, "127.0.0.1", r));
var url = `http://127.0.0.1:${srv.address().port}/v1`;
var mk = { chat: () => openai({ api: "chat", apiKey: "k-test-1", baseUrl: url }), resp: () => openai({ api: "responses", apiKey: "k-test-1", baseUrl: url }), ant: () => anthropic({ apiKey: "k-test-1", baseUrl: url }), gem: () => gemini({ apiKey: "k-test-1", baseUrl: url }) };
var model = { chat: "gpt-4o", resp: "gpt-5", ant: "claude-sonnet-4-5", gem: "gemini-2.5-flash" };
var want = { 400: "invalid_request", 401: "authentication_failed", 403: "authentication_failed", 404: "invalid_request", 408: "timeout", 413: "invalid_request", 422: "invalid_request", 429: "rate_limited", 500: "provider_unavailable", 502: "provider_unavailable", 503: "provider_unavailable", 504: "provider_unavailable", 529: "provider_unavailable", 520: "provider_unavailable" };
async function call(p, opt = {}) {
  const engine = createEngine({ adapter: mk[p](), model: model[p], retry: false });
  const evs = [];
  const t0 = Date.now();
  const go = (async () => {
    try {
      for await (const e of streamGenerate(engine, [user("hi")], opt)) evs.push(e);
      const l = evs.at(-1);
      return { last: l, evs };
    } catch (e) {
      return { e, evs };
    }
  })();
  const r = await Promise.race([go, new Promise((r2) => setTimeout(() => r2({ hang: 1 }), 8e3))]);
  r.ms = Date.now() - t0;
  return r;
}
var n = 0;
var bad = 0;
var say2 = (...a) => {
  bad++;
  console.log(...a);
};
var bodies = { obj: '{"error":{"message":"m"}}', str: '{"error":"m"}', arr: '[{"error":{"message":"m"}}]', html: "<html><body>x</body></html>", empty: "", text: "oops", nul: "null", num: "7", detail: '{"detail":[{"msg":"m"}]}', msg: '{"message":"m"}', errnull: '{"error":null}', errarr: '{"error":[]}', errnum: '{"error":5}', typenum: '{"error":{"message":{"a":1},"type":5,"code":{"x":1},"status":7,"details":"x"}}', jsonstr: '"m"', trunc: '{"error":{"mess', big: "x".repeat(3e6) };
var after = new Date(Date.now() + 7e3).toUTCString();
var ras = { none: {}, sec: { "retry-after": "3" }, date: { "retry-after": after }, ms: { "retry-after-ms": "1500" }, bad: { "retry-after": "soon" } };
for (const p in mk) for (const st in want) for (const b in bodies) {
  n++;
  handler = (q, r2) => {
    r2.writeHead(+st, { "content-type": "application/json" });
    r2.end(bodies[b]);
  };
  const r = await call(p);
  if (!r.e || !isAllmError(r.e) || r.e.reason !== want[st] || r.e.status !== +st || r.evs.length) say2(p, st, b, r.hang ? "HANG" : r.e ? `${r.e.name}/${r.e.reason} ${r.e.status} ${r.e.message?.slice(0, 100)} ${isAllmError(r.e) ? "" : r.e.stack}` : "no error");
  else {
    const j = JSON.stringify(r.e.toJSON());
    if (j !== JSON.stringify(JSON.parse(j))) say2("json", p, st, b);
  }
}
for (const p in mk) for (const st of [429, 503]) for (const k in ras) {
  n++;
  handler = (q, r2) => {
    r2.writeHead(st, { ...ras[k] });
    r2.end(bodies.obj);
  };
  const r = await call(p);
  const ra = r.e?.retryAfterMs;
  const ok = { none: ra === void 0, sec: ra === 3e3, date: ra > 4e3 && ra <= 8e3, ms: ra === 1500, bad: ra === void 0 }[k];
  if (!ok) say2("retry-after", p, st, k, ra);
}
for (const p in mk) for (const st of [301, 302, 303, 307, 308]) {
  n++;
  let hits = 0;
  handler = (q, r2) => {
    hits++;
    r2.writeHead(st, { location: url + "/other" });
    r2.end();
  };
  const r = await call(p);
  if (!r.e || r.e.kind !== "adapter" || hits !== 1) say2("redirect", p, st, r.e, hits);
}
for (const p in mk) for (const st of [100, 199, 418, 451, 600].slice(2, 4)) {
  n++;
  handler = (q, r2) => {
    r2.writeHead(st);
    r2.end("{}");
  };
  const r = await call(p);
  if (!isAllmError(r.e)) say2("st", p, st, r);
  else console.log("  other status", p, st, r.e.reason);
}
var good = {
  chat: ['data: {"id":"c","choices":[{"index":0,"delta":{"content":"h\xE9"}}]}\n\n', 'data: {"choices":[{"index":0,"delta":{"content":"llo"},"finish_reason":"stop"}]}\n\n', "data: [DONE]\n\n"],
  resp: ['data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"h\xE9"}\n\n', 'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"llo"}\n\n', 'data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}\n\n'],
  ant: ['data: {"type":"message_start","message":{"id":"m"}}\n\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h\xE9"}}\n\n', 'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"llo"}}\n\n', 'data: {"type":"content_block_stop","index":0}\n\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n'],
  gem: ['data: {"candidates":[{"content":{"parts":[{"text":"h\xE9"}]}}]}\r\n\r\n', 'data: {"candidates":[{"content":{"parts":[{"text":"llo"}]}}]}\r\n\r\n', 'data: {"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}\r\n\r\n']
};
for (const enc of ["gzip", "deflate", "br"]) for (const p in mk) {
  n++;
  handler = (q, r2) => {
    r2.writeHead(200, { "content-type": "text/event-stream", "content-encoding": enc });
    const b = Buffer.from(good[p].join(""));
    r2.end(enc === "gzip" ? zlib.gzipSync(b) : enc === "br" ? zlib.brotliCompressSync(b) : zlib.deflateSync(b));
  };
  const r = await call(p);
  if (r.last?.type !== "message_completed" || JSON.stringify(r.last.message.content) !== '"h\xE9llo"') say2(enc, p, r.e ?? r.last);
}
for (const p in mk) {
  n++;
  handler = (q, r2) => {
    r2.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    const b = zlib.gzipSync(Buffer.from(good[p].join("").repeat(1)));
    r2.write(b.subarray(0, b.length - 12));
    setTimeout(() => r2.destroy(), 20);
  };
  const r = await call(p);
  console.log("  gzip cut", p, r.e ? `throw ${r.e.kind}/${r.e.reason}` : `${r.last?.type} ${r.last?.error?.reason}`);
}
for (const p in mk) {
  n++;
  handler = (q, r2) => {
    r2.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    r2.end("not gzip at all");
  };
  const r = await call(p);
  console.log("  bad gzip", p, r.e ? `throw ${isAllmError(r.e)} ${r.e.kind}/${r.e.reason} ${r.e.message}` : `${r.last?.type} ${r.last?.error?.reason}`);
}
for (const p in mk) {
  const cuts = { beforeHead: (q, r) => q.socket.destroy(), afterHead: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.flushHeaders();
    setTimeout(() => q.socket.destroy(), 10);
  }, mid1: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.write(good[p][0]);
    setTimeout(() => q.socket.destroy(), 10);
  }, mid1half: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.write(good[p][0] + good[p][1].slice(0, 30));
    setTimeout(() => q.socket.destroy(), 10);
  }, endEarly: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.end(good[p][0] + good[p][1].slice(0, 30));
  }, contentLength: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream", "content-length": "100000" });
    r.write(good[p][0]);
    setTimeout(() => q.socket.destroy(), 10);
  }, errBodyCut: (q, r) => {
    r.writeHead(500, { "content-length": "1000" });
    r.write('{"err');
    setTimeout(() => q.socket.destroy(), 10);
  }, errHang: (q, r) => {
    r.writeHead(500, { "content-type": "application/json" });
    r.write('{"err');
  }, hang: (q, r) => {
  }, headHang: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.flushHeaders();
  }, midHang: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.write(good[p][0]);
  }, pingHang: (q, r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    r.write(good[p][0]);
    const t = setInterval(() => r.write(": ping\n\n"), 50);
    q.socket.on("close", () => clearInterval(t));
  }, garbageHttp: (q, r) => q.socket.end("BLAH\r\n\r\n") };
  for (const k in cuts) {
    n++;
    handler = cuts[k];
    const r = await call(p, { requestTimeoutMs: 700, streamTimeoutMs: 400 });
    const text3 = r.evs?.filter((e) => e.type === "text_delta").map((e) => e.delta).join("");
    const typed3 = r.hang ? "HANG" : r.e ? isAllmError(r.e) ? `throw ${r.e.kind}/${r.e.reason}` : "UNTYPED " + r.e.stack : `${r.last?.type} ${r.last?.error?.kind}/${r.last?.error?.reason}`;
    console.log(`  ${p} ${k}: ${typed3} text=${text3} ${r.ms}ms`);
    if (/HANG|UNTYPED|message_completed/.test(typed3)) bad++;
  }
}
for (const p in mk) {
  n++;
  handler = async (q, r2) => {
    r2.writeHead(200, { "content-type": "text/event-stream" });
    const b = Buffer.from(good[p].join(""));
    for (let i = 0; i < b.length; i += 3) {
      r2.write(b.subarray(i, i + 3));
      await new Promise((z) => setImmediate(z));
    }
    r2.end();
  };
  const r = await call(p);
  if (r.last?.type !== "message_completed" || r.last.message.content !== "h\xE9llo") say2("slow", p, r);
}
for (const p of ["chat", "ant", "gem"]) {
  n++;
  handler = (q, r2) => {
    r2.writeHead(200, { "content-type": "text/event-stream" });
    const x = "data: " + "x".repeat(1 << 20);
    let i = 0;
    r2.write("data: ");
    const go = () => {
      while (i++ < 40) if (!r2.write("x".repeat(1 << 20))) return r2.once("drain", go);
      r2.end("\n\n");
    };
    go();
  };
  const r = await call(p);
  console.log("  huge", p, r.hang ? "HANG" : r.e ? `throw ${r.e.kind}/${r.e.reason}: ${r.e.message.slice(0, 80)}` : r.last);
}
console.log({ n, bad });
process.exit(0);
