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
function redact(text4) {
  let result = text4;
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
function remembered(check3) {
  const passed = /* @__PURE__ */ new WeakSet();
  return (value) => {
    if (typeof value !== "object" || value === null) return check3(value);
    if (passed.has(value)) return fine;
    const issues = check3(value);
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
function unknownKeys(value, legalKeys3, path = "") {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).filter((key) => !legalKeys3.includes(key)).map((key) => unknownKey(key, legalKeys3, path));
}
function unknownKey(key, legalKeys3, path = "") {
  const near = nearest(key, legalKeys3);
  const advice2 = near === void 0 ? `legal are ${legalKeys3.join(", ")}` : `did you mean ${near}?`;
  return { path, problem: `unknown key ${key}; ${advice2}` };
}
function nearest(word, words2) {
  const wanted = bare(word);
  const limit = Math.floor(Math.min(wanted.length / 2, Math.max(2, wanted.length / 3)));
  let best;
  let least = limit + 1;
  for (const candidate2 of words2) {
    const distance = editDistance(wanted, bare(candidate2));
    if (distance < least) [best, least] = [candidate2, distance];
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
function shape(required2, optional2 = {}) {
  const requiredKeys = Object.keys(required2);
  const looksRight = members({ ...required2, ...optional2 }, () => [
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
function members(table4, onUndefined) {
  const checks2 = new Map(Object.entries(table4));
  return (value) => {
    if (!isPlainObject(value)) return refuse("an object", value);
    let issues = fine;
    for (const key in value) {
      const member2 = value[key];
      const check3 = checks2.get(key);
      if (check3 === void 0) issues = join(issues, [unknownKey(key, [...checks2.keys()])]);
      else issues = join(issues, within(key, (member2 === void 0 ? onUndefined : check3)(member2)));
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
    const check3 = typeof type === "string" && Object.hasOwn(shapes, type) ? shapes[type] : void 0;
    return check3?.(value) ?? wrongTag(type, Object.keys(shapes));
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
  const { provider: provider2, status: status2, retryAfterMs: retryAfterMs2, retryable } = error;
  return {
    ...provider2 === void 0 ? {} : { provider: provider2 },
    ...status2 === void 0 ? {} : { status: status2 },
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
    const toolName3 = isPlainObject(item) ? item["name"] : void 0;
    if (typeof toolName3 === "string" && seen.has(toolName3)) {
      issues = join(issues, [
        { path: `[${index}].name`, problem: `is used twice among the tools: ${toolName3}` }
      ]);
    }
    seen.add(toolName3);
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
  const call = options ?? noOptions;
  return {
    engine: parts2,
    call,
    requestId: call.requestId ?? parts2.newId("request"),
    sessionId: session?.sessionId,
    tools: call.tools === void 0 ? parts2.tools : mergeByName(parts2.tools, call.tools),
    context: mergeContext(parts2.context, session?.context, call.context)
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
function mergeContext(engine, session, call) {
  return session === void 0 && call === void 0 ? engine : { ...engine, ...session, ...call };
}

// ../../src/engine/create-engine.ts
function createEngine(options = {}) {
  assertValid("invalid_options", validateEngineOptions(options));
  const {
    adapter,
    model,
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
    model,
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
  const copy2 = new Map(Object.entries(keys3));
  return (provider2) => copy2.get(provider2);
}

// ../../src/stream/output.ts
function outputSchema(format) {
  return isStandardSchema(format) ? format : void 0;
}
async function parseOutput(schema, text4, partial) {
  const result = await schema["~standard"].validate(parseJson(text4, partial));
  if (result.issues === void 0) return result.value;
  throw new ValidationError("invalid_output", result.issues.map(toIssue), { partial });
}
function parseJson(text4, partial) {
  try {
    return JSON.parse(text4);
  } catch (cause) {
    const problem = text4 === "" ? "the answer has no text" : `the answer is not JSON: ${text4.slice(0, 80)}`;
    throw new ValidationError("invalid_output", [{ path: "", problem }], { partial, cause });
  }
}
function toIssue({ path, message: message3 }) {
  let place = "";
  for (const segment2 of path ?? []) {
    const key = typeof segment2 === "object" ? segment2.key : segment2;
    if (typeof key === "number") place += `[${key}]`;
    else place += place === "" ? String(key) : `.${String(key)}`;
  }
  return { path: place, problem: message3 };
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
  return known2.find((candidate2) => candidate2 === word) ?? fallback;
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
    const at2 = clock.now();
    return { at: at2, durationMs: at2 - start4 };
  };
  return {
    stop: (outcome2) => emitTelemetry({ name: name2, phase: "stop", ...times(), ...facts2, ...outcome2 }),
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
  const failure2 = errorFromJSON(error);
  failure2.partial = partial;
  return failure2;
}

// ../../src/data/message.ts
function messageText(message3) {
  const { content: content2 } = message3;
  if (typeof content2 === "string") return content2;
  let text4 = "";
  for (const part2 of content2) if (part2.type === "text") text4 += part2.text;
  return text4;
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
function closeBlock(blocks, kind, index, whole2) {
  if (blocks.openKind !== kind || blocks.openIndex !== index) openBlock(blocks, kind, index);
  blocks.openText = whole2.text;
  park(blocks, { closed: true, opaque: whole2.opaque });
}
function addImage(blocks, image2) {
  park(blocks, { closed: false });
  const block2 = { kind: "image", index: void 0, text: "", closed: true, image: image2 };
  blocks.parked = [...blocks.parked, block2];
}
function toParts(blocks, provider2) {
  const all = { ...blocks };
  park(all, { closed: false });
  const parts2 = [];
  for (const { kind, text: text4, opaque, image: image2 } of all.parked) {
    if (image2 !== void 0) parts2.push({ type: "image", image: image2 });
    else if (kind === "text" && text4 !== "") parts2.push({ type: "text", text: text4 });
    else if (kind === "reasoning" && (text4 !== "" || opaque !== void 0)) {
      parts2.push(defined({ type: "reasoning", text: text4, opaque, provider: provider2 }));
    }
  }
  return parts2;
}
function openBlock(blocks, kind, index) {
  park(blocks, { closed: false });
  const known2 = blocks.parked.findLastIndex(
    (block2) => !block2.closed && block2.kind === kind && block2.index === index
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
  const { openKind: kind, openIndex: index, openText: text4, openAt } = blocks;
  if (kind === void 0) return;
  const { closed: closed2, opaque } = end2;
  blocks.parked = blocks.parked.with(openAt, { kind, index, text: text4, closed: closed2, opaque });
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
  const said3 = end2.message.content.length > 0 || end2.message.toolCalls !== void 0;
  return said3 ? end2.message : assistantMessage(toParts(state, state.provider), state.calls.map(toCall));
}
function toCall({ id, name: name2, raw, call }) {
  return call ?? { id, name: name2, arguments: {}, rawArguments: raw };
}

// ../../src/engine/drain-call.ts
async function drainCall(run) {
  const { state } = run;
  try {
    while ((await run.next()).done !== true) ;
  } catch (error) {
    if (isAllmError(error)) {
      state.error = error.toJSON();
      error.partial = toResponse(state);
    }
    throw error;
  }
  const response2 = toResponse(state);
  if (state.error !== void 0) throw failureOf(state.error, response2);
  return response2;
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
function assertOptions(reason, options, legalKeys3) {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw refusal(reason, "", `options must be an object, not ${describe(options)}`);
  }
  assertValid(reason, unknownKeys(options, legalKeys3));
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
  const made2 = {
    type: "json_schema",
    name: name2,
    schema: toJsonSchema(schema, "invalid_request"),
    strict
  };
  assertValid("invalid_request", responseFormat(made2));
  return made2;
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
  const { call, engine } = scene;
  const { defaults } = engine;
  const format = turn === void 0 ? call.responseFormat ?? draft.responseFormat ?? defaults.responseFormat : turn.responseFormat;
  const choice = turn === void 0 ? call.toolChoice ?? draft.toolChoice ?? defaults.toolChoice : turn.toolChoice;
  return defined({
    model: call.model ?? draft.model ?? engine.model,
    messages: draft.messages,
    tools: turn?.tools ?? mergeTools(scene, draft.tools),
    toolChoice: choice,
    temperature: call.temperature ?? draft.temperature ?? defaults.temperature,
    maxTokens: call.maxTokens ?? draft.maxTokens ?? defaults.maxTokens,
    responseFormat: format === void 0 ? void 0 : toResponseFormat(format),
    reasoning: call.reasoning ?? draft.reasoning ?? defaults.reasoning,
    promptCache: call.promptCache ?? draft.promptCache ?? defaults.promptCache,
    providerOptions: mergeProviderOptions(
      defaults.providerOptions,
      draft.providerOptions,
      call.providerOptions
    ),
    metadata: mergeMetadata(defaults.metadata, draft.metadata, call.metadata)
  });
}
function mergeTools({ engine, call }, requested) {
  const own = mergeByName(engine.tools.map(toToolSpec), requested ?? []);
  return call.tools === void 0 ? own : mergeByName(own, call.tools.map(toToolSpec));
}
var none2 = {};
function mergeProviderOptions(...layers) {
  const given = layers.filter((layer) => layer !== void 0);
  if (given.length < 2) return given[0] ?? none2;
  const merged2 = {};
  for (const layer of given) {
    for (const [provider2, options] of Object.entries(layer)) {
      merged2[provider2] = { ...merged2[provider2], ...options };
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
function storedKey(provider2) {
  return keys2.get(provider2);
}

// ../../src/keys/find-key.ts
function findKey(provider2, places = {}) {
  const given = givenKey(provider2, places);
  if (given !== void 0) return given;
  const stored = storedKey(provider2);
  if (stored !== void 0) return { key: stored, source: "process" };
  for (const variable of keyVariables(provider2)) {
    const key = fromEnvironment(variable);
    if (isKey(key)) return { key, source: "environment", variable };
  }
  return void 0;
}
function resolveKey(provider2, places = {}) {
  const found = findKey(provider2, places);
  if (found !== void 0) return found.key;
  const variables = keyVariables(provider2).join(" or ");
  throw new EngineError(
    "missing_key",
    `no key for ${provider2}: looked at the call's apiKey, the engine's keys, setKey('${provider2}', \u2026) and the environment (${variables})`,
    { provider: provider2, metadata: { checked: ["call", "engine", "process", "environment"] } }
  );
}
function keyFor(adapter, places) {
  const { provider: provider2, key: need } = adapter;
  if (need === void 0) return void 0;
  if (need.own) return givenKey(provider2, places)?.key;
  return need.required ? resolveKey(provider2, places) : findKey(provider2, places)?.key;
}
function keyVariables(provider2) {
  const own = `${provider2.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_API_KEY`;
  return provider2 === "gemini" ? [own, "GOOGLE_API_KEY"] : [own];
}
function givenKey(provider2, places) {
  if (isKey(places.apiKey)) return { key: places.apiKey, source: "call" };
  const key = places.keys?.(provider2);
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
  calls.forEach((call, at2) => {
    if (isObject(call) && typeof call["id"] === "string") turn.calls.set(call["id"], at2);
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
    for (const [id, at2] of calls) {
      if (answered.has(id)) continue;
      const path = `messages[${index}].toolCalls[${at2}]`;
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
  const at2 = base642.search(/[^A-Za-z0-9+/]/);
  const padding2 = at2 === -1 ? 0 : base642.length - at2;
  if (padding2 > 0 && (padding2 > 2 || base642.slice(at2) !== "=".repeat(padding2))) {
    return `is not base64: character ${at2 + 1} is ${JSON.stringify(base642[at2])}`;
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
  toolCalls.forEach((call, index) => {
    if (!isPlainObject(call)) return;
    const { id } = call;
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
function runsTools(response2) {
  return response2.toolCalls.length > 0 && endedByItself(response2.finishReason);
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
  const { response: response2, newMessages, manualToolCalls, halt } = event;
  state.thread = appendMessages(state.thread, ...newMessages);
  const step = defined({
    thread: state.thread,
    response: response2,
    toolResults: newMessages.filter((message3) => message3.role === "tool"),
    done: isDone(event),
    manualToolCalls,
    halt
  });
  state.steps = [...state.steps, step];
  state.haltedReason = event.haltedReason;
  state.questions = inCallOrder(state.halts, response2).filter(
    (asked) => asked.reason === "ask_user"
  );
  clearMessage(state);
}
function storedResult({ id, result, outcome: outcome2 }) {
  return defined({
    toolCallId: id,
    value: "ok" in result ? result.ok : void 0,
    error: "error" in result ? result.error : void 0,
    question: outcome2?.type === "ask_user" ? { question: outcome2.question, options: outcome2.options } : void 0,
    haltReason: outcome2?.type === "halt" ? outcome2.reason : void 0
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
      const { call } = event;
      setCall(state, { id: call.id, name: call.name, raw: call.rawArguments ?? "", call });
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
function setCall(state, call) {
  const at2 = state.calls.findIndex(({ id }) => id === call.id);
  state.calls = at2 === -1 ? [...state.calls, call] : state.calls.with(at2, call);
}
function growCall(state, id, delta) {
  const at2 = state.calls.findLastIndex((call) => call.id === id);
  const known2 = state.calls[at2];
  if (known2 === void 0) state.calls = [...state.calls, { id, name: "", raw: delta }];
  else state.calls = state.calls.with(at2, { ...known2, raw: known2.raw + delta });
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
function openAttempt(call, apiKey) {
  const abort = lazyAbort();
  const { requestId, sessionId, includeRawChunks, clock, newId } = call.adapterOptions;
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
    call,
    source: openSource(call, options),
    abort,
    onResult: (result) => settled(attempt)?.onBatch(result.done === true ? void 0 : result.value),
    onError: (error) => settled(attempt)?.onFailure(typed(error, call)),
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
function cancelledCall({ provider: provider2, requestId, signal: signal2 }) {
  const cause = signal2?.reason;
  const message3 = `the call to ${provider2} was cancelled`;
  return new StreamError("cancelled", message3, { provider: provider2, requestId, cause });
}
function openSource(call, options) {
  try {
    return call.adapter.stream(call.request, options)[Symbol.asyncIterator]();
  } catch (error) {
    throw typed(error, call);
  }
}
function settled(attempt) {
  const { waiting } = attempt;
  attempt.waiting = void 0;
  if (waiting !== void 0) attempt.dog?.feed(void 0);
  return waiting;
}
function watchOver(attempt) {
  const { provider: provider2, requestId, clock } = attempt.call;
  attempt.dog ??= watchdog(clock, (ms) => {
    const message3 = `${provider2} was silent for ${ms} ms`;
    stopAttempt(attempt, new AdapterError("timeout", message3, { provider: provider2, requestId }));
  });
  return attempt.dog;
}
function typed(error, { provider: provider2, requestId }) {
  if (isAllmError(error)) return error;
  const text4 = error instanceof Error ? error.message : String(error);
  const message3 = `${provider2} failed: ${text4}`;
  return new AdapterError("unknown", message3, { provider: provider2, requestId, cause: error });
}

// ../../src/async/retry.ts
async function retry(makePlan, attempt) {
  let plan;
  for (let number2 = 1; ; number2++) {
    try {
      return await attempt();
    } catch (error) {
      plan ??= makePlan();
      const failure2 = plan.judge(error);
      if (!failure2.transient || number2 >= plan.maxAttempts) throw error;
      const asked = plan.respectRetryAfter ? failure2.retryAfterMs ?? 0 : 0;
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
function callFacts(call) {
  const { requestId, provider: provider2, request: request2, adapterOptions } = call;
  return { requestId, provider: provider2, model: request2.model, sessionId: adapterOptions.sessionId };
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
  const { provider: provider2, status: status2, requestId, metadata: metadata2, cause } = error;
  const details = { provider: provider2, status: status2, requestId, metadata: metadata2, cause, retryAfterMs: retryAfterMs2, retryable: true };
  return error instanceof AdapterError ? new AdapterError(error.reason, message3, details) : new ImageAdapterError(error.reason, message3, details);
}

// ../../src/stream/first-batch.ts
function firstBatch(opening) {
  const { call, stop: stop2 } = opening;
  const apiKey = call.findKey();
  const plan = () => retryPlan(call.retry, {
    clock: call.clock,
    signal: signalOf(stop2),
    onRetry: (error, attempt, delayMs2) => reportRetry(call, error, attempt, delayMs2)
  });
  return retry(plan, () => tryOnce(opening, apiKey));
}
function tryOnce(opening, apiKey) {
  const { call } = opening;
  const attempt = openAttempt(call, apiKey);
  opening.attempt = attempt;
  return new Promise((resolve) => {
    const fail = (error) => {
      opening.attempt = void 0;
      resolve(failAfter(cutAttempt(attempt), error));
    };
    const puller = {
      onBatch(batch) {
        if (batch === void 0) fail(emptyAnswer(call));
        else if (batch[0] === void 0) pullBatch(attempt, call.requestTimeoutMs, puller);
        else if (batch[0].type === "error") fail(errorFromJSON(batch[0].error));
        else resolve(batch);
      },
      onFailure: fail
    };
    pullBatch(attempt, call.requestTimeoutMs, puller);
  });
}
async function failAfter(work, error) {
  await work.catch(() => void 0);
  throw error;
}
function emptyAnswer({ provider: provider2, requestId }) {
  const message3 = `${provider2} gave an answer without any event`;
  return new StreamError("truncated", message3, { provider: provider2, requestId, eventIndex: 0 });
}
function reportRetry(call, failure2, attempt, delayMs2) {
  if (!isObserved()) return;
  const { partial: _content, ...error } = errorToJSON(failure2);
  emitTelemetry({
    name: "retry",
    at: call.clock.now(),
    ...callFacts(call),
    attempt,
    delayMs: delayMs2,
    error
  });
}

// ../../src/stream/model-run.ts
var over = { done: true, value: void 0 };
function modelRun(call, state = createCollector()) {
  state.requestId = call.requestId;
  state.provider = call.provider;
  const live = {
    call,
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
  return phase === "ending" ? end(live, false) : Promise.resolve(over);
}
async function start(live) {
  const { call } = live;
  live.phase = "opening";
  live.trace = span("stream", callFacts(call), call.clock);
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
function stopCall({ call, stop: stop2, attempt }) {
  const error = cancelledCall(call);
  abortWith(stop2, error);
  if (attempt !== void 0) stopAttempt(attempt, error);
}
async function leave(live) {
  if (live.phase === "opening") {
    stopCall(live);
    await live.opening?.catch(() => void 0);
  }
  return live.phase === "ended" ? over : end(live, true);
}
function pull(live, attempt) {
  return new Promise((resolve) => {
    const settle2 = (batch) => {
      try {
        resolve({ done: false, value: take(live, batch) });
      } catch (error) {
        resolve(failed(live, error));
      }
    };
    pullBatch(attempt, live.call.streamTimeoutMs, {
      onBatch: (batch) => settle2(batch ?? [failureEvent(truncated(live))]),
      onFailure: (error) => settle2([failureEvent(error)])
    });
  });
}
async function failed(live, error) {
  await end(live, true);
  throw error;
}
function take(live, batch) {
  const { state, call } = live;
  for (let index = 0; index < batch.length; index++) {
    const event = batch[index];
    if (event === void 0) continue;
    foldEvent(state, event);
    call.onEvent?.(event);
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
function truncated({ call, state }) {
  const { provider: provider2, requestId } = call;
  const message3 = `the answer of ${provider2} ended without its last event`;
  return new StreamError("truncated", message3, { provider: provider2, requestId, eventIndex: state.count });
}
async function end(live, cut) {
  const { attempt, state } = live;
  live.phase = "ended";
  try {
    if (attempt !== void 0) {
      const whole2 = !cut && state.error === void 0 && await windUp(attempt);
      if (!whole2) await cutAttempt(attempt);
    }
  } finally {
    live.phase = "ended";
    attempt?.dog?.stop();
    live.unlink?.();
    report(live);
  }
  return over;
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
  const response2 = toResponse(state);
  const { finishReason: finishReason2, usage: usage2 } = response2;
  trace.stop({ finishReason: finishReason2, usage: usage2, content: response2 });
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
    const { provider: provider2 } = adapter;
    throw new EngineError(
      "missing_model",
      `${provider2} needs a model; give one to the call, the request or createEngine({ model })`,
      { provider: provider2 }
    );
  }
  assertValid("invalid_request", validateRequest(request2));
}
function startCall(scene, request2, state) {
  return modelRun(modelCall(scene, request2), state);
}
function modelCall(scene, request2) {
  const { engine, call, requestId, sessionId } = scene;
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
    findKey: () => keyFor(adapter, { apiKey: call.apiKey, keys: engine.keys }),
    clock,
    signal: call.signal,
    requestTimeoutMs: optionOf(scene, "requestTimeoutMs"),
    streamTimeoutMs: optionOf(scene, "streamTimeoutMs") ?? 6e4,
    retry: call.retry ?? engine.retry,
    onEvent: optionOf(scene, "onEvent")
  };
}

// ../../src/engine/prepare-call.ts
function prepareCall(engine, input, options) {
  const scene = runScene(engine, options);
  const draft = isMessages(input) ? { messages: input } : checkedKeys(input);
  const request2 = buildRequest(scene, draft);
  checkRequest(scene, request2);
  const { call, engine: parts2 } = scene;
  const format = call.responseFormat ?? draft.responseFormat ?? parts2.defaults.responseFormat;
  return { scene, run: startCall(scene, request2), schema: outputSchema(format) };
}
function checkedKeys(request2) {
  if (typeof request2 !== "object" || request2 === null) {
    const problem = "must be a request or a list of messages";
    throw new ValidationError("invalid_request", [{ path: "", problem }]);
  }
  assertOptions("invalid_request", request2, requestKeys);
  return request2;
}
function isMessages(input) {
  return Array.isArray(input);
}

// ../../src/engine/generate.ts
async function generate(engine, input, options) {
  const { scene, run, schema } = prepareCall(engine, input, options);
  const { requestId, engine: parts2 } = scene;
  const trace = span("generate", { requestId, provider: run.state.provider }, parts2.clock);
  try {
    const response2 = await drainCall(run);
    const { finishReason: finishReason2, usage: usage2, outputText } = response2;
    const output = schema && { output: await parseOutput(schema, outputText, response2) };
    trace.stop({ finishReason: finishReason2, usage: usage2, content: response2 });
    return output === void 0 ? response2 : { ...response2, ...output };
  } catch (error) {
    trace.error(error);
    throw error;
  }
}

// ../../src/data/usage.ts
var usageFields = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "cachedInputTokens",
  "cacheWriteInputTokens",
  "reasoningTokens"
];

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
  let at2 = 0;
  for (let index = 0; index < bytes.length; index += 3) {
    const group = (bytes[index] ?? 0) << 16 | (bytes[index + 1] ?? 0) << 8 | (bytes[index + 2] ?? 0);
    out[at2++] = pairs[group >> 12] ?? 0;
    out[at2++] = pairs[group & 4095] ?? 0;
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

// ../../src/make/model-request.ts
var legalKeys = requestKeys.filter((key) => key !== "messages");
function modelRequest(messages2, options = {}) {
  assertOptions("invalid_request", options, legalKeys);
  if (!Array.isArray(messages2)) {
    const problem = `must be a list such as [user("\u2026")], not ${describe(messages2)}`;
    throw refusal("invalid_request", "messages", problem);
  }
  const { tools: tools3 = [], responseFormat: responseFormat2, providerOptions: providerOptions2 = {}, metadata: metadata2 = {}, ...rest } = options;
  return defined({
    ...rest,
    messages: messages2,
    tools: tools3.map(toToolSpec),
    responseFormat: responseFormat2 === void 0 ? void 0 : toResponseFormat(responseFormat2),
    providerOptions: providerOptions2,
    metadata: metadata2
  });
}

// ../../src/data/finish-reason.ts
var finishReasons = [
  "stop",
  "length",
  "tool_calls",
  "content_filter",
  "error",
  "other"
];

// ../../src/data/image-request.ts
var imageOperations = ["generate", "edit", "variation"];

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
function guardCall(call) {
  const { provider: provider2, requestId, requestTimeoutMs, streamTimeoutMs } = call;
  const abort = linkedAbort(call.signal);
  const timed = requestTimeoutMs !== void 0 || streamTimeoutMs !== void 0;
  const dog = watchdog(call.clock ?? systemClock, (ms) => {
    const message3 = `${provider2} was silent for ${ms} ms`;
    abort.abort(new AdapterError("timeout", message3, { provider: provider2, requestId }));
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
async function readBounded(response2, maxBytes2) {
  const reader = response2.body?.getReader();
  if (reader === void 0) return "";
  const decoder2 = new TextDecoder();
  let text4 = "";
  let size = 0;
  try {
    while (size < maxBytes2) {
      const { done, value } = await reader.read();
      if (done) return text4 + decoder2.decode();
      text4 += decoder2.decode(value.subarray(0, maxBytes2 - size), { stream: true });
      size += value.byteLength;
    }
    return text4;
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
  return (text4) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text4);
}
function withoutSecrets(failure2, headers) {
  const clean = secretFilter(headers);
  const { metadata: metadata2 } = failure2;
  return {
    ...failure2,
    message: clean(failure2.message),
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
function transportFailure(error, call, signal2) {
  const { provider: provider2, requestId } = call;
  if (signal2.aborted) {
    const reason = signal2.reason;
    if (isAllmError(reason)) return reason;
    return new StreamError("cancelled", `the call to ${provider2} was cancelled`, {
      provider: provider2,
      requestId,
      cause: reason
    });
  }
  if (isAllmError(error)) return error;
  const { code, text: text4 } = describe2(error);
  const timedOut = code !== void 0 && timeoutCodes.has(code);
  const advice2 = code !== void 0 && platformTimeouts.has(code) ? "; the limit is that of this runtime, and only a fetch of your own can raise it" : "";
  const message3 = `${provider2} could not be reached: ${text4}${advice2}`;
  return new AdapterError(timedOut ? "timeout" : "network_error", message3, {
    provider: provider2,
    requestId,
    cause: error,
    ...code === void 0 ? {} : { metadata: { code } }
  });
}
function describe2(error) {
  if (!(error instanceof Error)) return { code: void 0, text: String(error) };
  const inner = error.cause instanceof Error ? error.cause : error;
  const text4 = inner.message === "" ? error.message : inner.message;
  if ("code" in inner && typeof inner.code === "string") {
    return { code: inner.code, text: text4 === "" ? inner.code : text4 };
  }
  return { code: inner.name === "TimeoutError" ? inner.name : void 0, text: text4 };
}

// ../../src/http/post.ts
var maxFailureBytes = 64 * 1024;
async function post(call, signal2) {
  const headers = legalHeaders(call);
  const send = call.fetch ?? globalThis.fetch;
  if (signal2.aborted) throw transportFailure(signal2.reason, call, signal2);
  let response2;
  try {
    const body = call.body === void 0 ? {} : { body: call.body };
    const init = { method: "POST", headers, ...body, redirect: "manual", signal: signal2 };
    response2 = await unlessAborted(send(call.url, init), signal2);
  } catch (error) {
    throw transportFailure(error, call, signal2);
  }
  if (response2.status < 200 || response2.status >= 300) throw await refusal2(response2, call, signal2);
  call.onResponse?.(response2);
  return response2;
}
function unlessAborted(sending, signal2) {
  return new Promise((resolve, reject) => {
    const stop2 = () => {
      reject(reasonOf(signal2));
      sending.then((late) => late.body?.cancel()).catch(() => void 0);
    };
    signal2.addEventListener("abort", stop2, { once: true });
    sending.then(resolve, reject).finally(() => signal2.removeEventListener("abort", stop2));
  });
}
function legalHeaders(call) {
  const headers = { ...call.headers };
  const probe = new Headers();
  for (const [name2, value] of Object.entries(headers)) {
    try {
      probe.set(name2, value);
    } catch {
      const message3 = `the header ${name2} for ${call.provider} has characters that a header can not hold`;
      const { provider: provider2, requestId } = call;
      throw new AdapterError("invalid_request", message3, { provider: provider2, requestId });
    }
  }
  return headers;
}
async function refusal2(response2, call, signal2) {
  const { status: status2, headers } = response2;
  const facts2 = { provider: call.provider, requestId: call.requestId };
  if (response2.type === "opaqueredirect" || status2 >= 300 && status2 < 400) {
    await response2.body?.cancel();
    const message4 = `${call.provider} answered with a redirect, which is not followed; correct baseUrl`;
    return new AdapterError("invalid_request", message4, { ...facts2, status: status2 });
  }
  let body;
  try {
    body = await readBounded(response2, maxFailureBytes);
  } catch (error) {
    if (signal2.aborted) throw transportFailure(error, call, signal2);
    body = "";
  }
  const failure2 = withoutSecrets(call.parseFailure(status2, body, headers), call.headers);
  const { reason, message: message3, ...rest } = failure2;
  return new AdapterError(reason, message3, { ...facts2, status: status2, ...rest });
}

// ../../src/http/post-for-json.ts
async function postForJson(call) {
  const guard = guardCall(call);
  try {
    const response2 = await post(call, guard.signal);
    const text4 = await response2.text();
    return {
      value: parse(text4, call, response2.status),
      status: response2.status,
      headers: response2.headers
    };
  } catch (error) {
    throw transportFailure(error, call, guard.signal);
  } finally {
    guard.close();
  }
}
function parse(text4, call, status2) {
  try {
    return JSON.parse(text4);
  } catch (cause) {
    const { provider: provider2, requestId } = call;
    const message3 = `${provider2} answered ${status2} with a body that is not JSON: ${text4.slice(0, 120)}`;
    throw new AdapterError("malformed_response", message3, { provider: provider2, requestId, status: status2, cause });
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
    const text4 = error instanceof Error ? error.message : String(error);
    return { problem: `can not be read from ${image2.path}: ${text4}` };
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
function tooLarge(size, { provider: provider2, maxBytes: maxBytes2 }) {
  return `has ${size} bytes, and ${provider2} takes at most ${maxBytes2}`;
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
function mergeBody(body, over2) {
  if (over2 === void 0) return body;
  const result = { ...body };
  for (const [key, value] of Object.entries(over2)) {
    result[key] = addedTo.has(key) && Array.isArray(value) ? addItems(asList(result[key]), asList(value)) : mergeValue(result[key], value);
  }
  return result;
}
function addItems(known2, over2) {
  return [...known2, ...over2.filter((item) => !known2.includes(item))];
}
function mergeValue(known2, over2) {
  const before = asObject(known2);
  const after = asObject(over2);
  if (before === void 0 || after === void 0) return over2;
  const result = { ...before };
  for (const [key, value] of Object.entries(after)) result[key] = mergeValue(result[key], value);
  return result;
}

// ../../src/providers/openai/call-headers.ts
function callHeaders(settings, { apiKey, stream, requestId }) {
  const { provider: provider2, official } = settings;
  const key = apiKey === void 0 || apiKey === "" ? settings.ownKey() : apiKey;
  if (key === void 0 && official && settings.headers["authorization"] === void 0) {
    const message3 = `no key for ${provider2}: neither the call nor the adapter has one`;
    throw new EngineError("missing_key", message3, { provider: provider2, requestId });
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
function parseFailure(provider2, status2, body, headers) {
  const failure2 = readFailure(parseJson2(body));
  const providerRequestId = headers.get("x-request-id") ?? headers.get("apim-request-id");
  const judged = judgeFailure(provider2, failure2, status2);
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
  const status2 = asCount(value) ?? Number(asText(value));
  return status2 >= 400 && status2 < 600 ? status2 : void 0;
}
function wordsOf(value) {
  const isStructured = typeof value === "object" && value !== null;
  return isStructured ? JSON.stringify(value).slice(0, 500) : asText(value);
}
function judgeFailure(provider2, failure2, status2 = failure2.status) {
  const reason = reasonOf2(failure2, status2);
  const { message: message3, code, type, param } = failure2;
  const fallback = `${provider2} answered ${status2 ?? "with an error"}`;
  const asked = reason === "rate_limited" ? askedIn(message3 ?? "") : void 0;
  return {
    reason,
    message: message3 === void 0 ? fallback : `${provider2}: ${message3}`,
    ...status2 === 402 || [code, type].some(isQuota) ? { retryable: false } : {},
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
function reasonOf2(failure2, status2) {
  const { code = "", type = "", message: message3 = "" } = failure2;
  const byWord = wordReason(code) ?? wordReason(type);
  const byText = status2 === void 0 || status2 < 500 ? textReason(message3) : void 0;
  if (byWord !== void 0 && strongerThanStatus.has(byWord)) return byWord;
  if (status2 === void 0) return wordReason(code) ?? byText ?? byWord ?? "unknown";
  if (status2 === 400 || status2 === 413 || status2 === 422) {
    return wordReason(code) === "authentication_failed" ? "authentication_failed" : byText ?? "invalid_request";
  }
  return statusReason(status2);
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
function statusReason(status2) {
  if (status2 === 401 || status2 === 403) return "authentication_failed";
  if (status2 === 402 || status2 === 429) return "rate_limited";
  if (status2 === 408) return "timeout";
  if (status2 === 404 || status2 === 405 || status2 === 415) return "invalid_request";
  return status2 >= 500 ? "provider_unavailable" : "unknown";
}
function askedIn(message3) {
  const match = /try again in (?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?/i.exec(message3);
  if (match === null) return void 0;
  const [, minutes = "0", seconds = "0", ms = "0"] = match;
  const asked = Math.round(Number(minutes) * 6e4 + Number(seconds) * 1e3 + Number(ms));
  return asked > 0 ? asked : void 0;
}
function parseJson2(body) {
  try {
    return JSON.parse(body);
  } catch {
    return void 0;
  }
}

// ../../src/providers/openai/openai-options.ts
var defaultBaseUrl = "https://api.openai.com/v1";
var legalKeys2 = {
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
  const issues = [...unknownKeys(options, Object.keys(legalKeys2))];
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
  const response2 = toResponse(state);
  if (response2.error !== void 0) throw failureOf(response2.error, response2);
  return response2;
}

// ../../src/http/body-decoder.ts
function bodyDecoder(decoder2, splitter) {
  const text4 = new TextDecoder();
  let seen = 0;
  let target = [];
  const onEvent = (data, event) => {
    seen++;
    if (!decoder2.done) decoder2.push(data, event, target);
  };
  const decode3 = (chunk) => {
    if (chunk !== void 0) {
      splitter.feed(text4.decode(chunk, { stream: true }), onEvent);
      return;
    }
    splitter.feed(text4.decode(), onEvent);
    splitter.end(onEvent);
    if (!decoder2.done) decoder2.end(target);
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
        decode3(chunk);
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
function takeLine(state, text4, from, to) {
  if (text4.startsWith("data", from)) {
    const value = fieldValue(text4, from + 4, to);
    if (value === void 0) return;
    state.data = state.hasData ? `${state.data}
${value}` : value;
    state.hasData = true;
  } else if (text4.startsWith("event", from)) {
    state.event = fieldValue(text4, from + 5, to) ?? state.event;
  }
}
function dispatch(state, onEvent) {
  const { data, hasData, event } = state;
  state.data = "";
  state.hasData = false;
  state.event = void 0;
  if (hasData) onEvent(data, event === "" ? void 0 : event);
}
function fieldValue(text4, at2, to) {
  if (at2 === to) return "";
  if (text4.charCodeAt(at2) !== colon) return void 0;
  return text4.slice(at2 + 1 < to && text4.charCodeAt(at2 + 1) === space ? at2 + 2 : at2 + 1, to);
}

// ../../src/http/stream-failure.ts
function unreadable(problem, call, { sent }) {
  if (isAllmError(problem)) return problem;
  const { provider: provider2, requestId } = call;
  const text4 = problem instanceof Error ? problem.message : String(problem);
  const message3 = `${provider2} sent an event that can not be read: ${text4}`;
  if (sent === 0) {
    return new AdapterError("malformed_response", message3, { provider: provider2, requestId, cause: problem });
  }
  const eventIndex = sent;
  return new StreamError("malformed_event", message3, {
    provider: provider2,
    requestId,
    eventIndex,
    cause: problem
  });
}
function truncated2(call, { sent }, foreign) {
  const { provider: provider2, requestId } = call;
  if (foreign && sent === 0) {
    const message4 = `${provider2} answered with a body that is neither a stream of events nor an answer`;
    return new AdapterError("malformed_response", message4, { provider: provider2, requestId });
  }
  const message3 = `the answer of ${provider2} ended without its end marker`;
  return new StreamError("truncated", message3, { provider: provider2, requestId, eventIndex: sent });
}
function brokenRead(error, call, signal2, { sent }) {
  const failure2 = transportFailure(error, call, signal2);
  if (sent === 0 || isAllmError(error) || signal2.aborted || failure2.kind !== "adapter") {
    return failure2;
  }
  const { provider: provider2, requestId } = call;
  const reason = failure2.reason === "timeout" ? "timeout" : "truncated";
  const details = { provider: provider2, requestId, eventIndex: sent, cause: error };
  return new StreamError(reason, failure2.message, details);
}

// ../../src/http/stream-sse.ts
function streamSse(source, decoder2) {
  const exit = { left: false, guard: void 0 };
  const batches = readBatches(source, decoder2, exit);
  const finish3 = batches.return.bind(batches);
  batches.return = (value) => {
    exit.left = true;
    if (!decoder2.done) exit.guard?.close();
    return finish3(value);
  };
  return batches;
}
async function* readBatches(source, decoder2, exit) {
  const call = typeof source === "function" ? await source() : source;
  if (exit.left) return;
  const guard = guardCall(call);
  exit.guard = guard;
  let reader;
  let sent = 0;
  let seen = 0;
  try {
    const response2 = await post(call, guard.signal);
    reader = bodyReader(response2, call, guard.signal);
    const body = bodyDecoder(decoder2, call.splitter?.(response2) ?? sseSplitter());
    let hadText = false;
    while (!decoder2.done) {
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
      if (!decoder2.done && (out.length > 0 || body.seen !== seen)) guard.wait();
      seen = body.seen;
      if (stopped !== void 0) {
        const cut = done && stopped.problem instanceof SyntaxError && !body.isDocument;
        throw cut ? truncated2(call, { sent, seen }, false) : unreadable(stopped.problem, call, { sent, seen });
      }
      if (done && !decoder2.done) {
        throw truncated2(call, { sent, seen }, hadText && (seen === 0 || body.isDocument));
      }
    }
  } catch (error) {
    if (exit.left) return;
    const failure2 = brokenRead(error, call, guard.signal, { sent, seen });
    if (sent === 0) throw failure2;
    yield [decoder2.failure(failure2.toJSON())];
  } finally {
    if (decoder2.done && reader !== void 0) letEnd(reader, guard).catch(() => void 0);
    else await hangUp(reader, guard);
  }
}
function bodyReader(response2, call, signal2) {
  const type = response2.headers.get("content-type") ?? "";
  if (response2.body !== null && !type.includes("text/html")) {
    const reader = response2.body.getReader();
    const stop2 = () => {
      reader.cancel().catch(() => void 0);
    };
    signal2.addEventListener("abort", stop2, { once: true });
    return reader;
  }
  const { provider: provider2, requestId } = call;
  const { status: status2 } = response2;
  const message3 = `${provider2} answered ${status2} with ${type || "no body"} instead of a stream`;
  throw new AdapterError("malformed_response", message3, { provider: provider2, requestId, status: status2 });
}

// ../../src/providers/openai/call-notes.ts
function decoderOptions(provider2, options) {
  const newId = options.newId ?? randomId;
  return {
    notes: {
      provider: provider2,
      requestId: options.requestId ?? newId("request"),
      dropped: [],
      providerRequestId: void 0,
      clean: (text4) => text4
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
  const { provider: provider2, requestId, providerRequestId, clean } = draft.notes;
  const reported = readFailure(value);
  const { reason, message: message3, metadata: metadata2, ...rest } = judgeFailure(provider2, reported);
  return new AdapterError(reason, clean(message3), {
    provider: provider2,
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
  const { id, model } = draft;
  const { requestId, provider: provider2 } = draft.notes;
  out.push(defined({ type: "message_started", requestId, provider: provider2, id, model }));
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
  const { parts: parts2, calls, usage: usage2, refusal: refusal4, notes } = draft;
  const metadata2 = defined({
    ...draft.metadata,
    ...draft.lists,
    refusal: asText(refusal4),
    droppedParameters: notes.dropped.length === 0 ? void 0 : notes.dropped,
    providerRequestId: notes.providerRequestId
  });
  const { finishReason: finishReason2, rawFinishReason } = end2;
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(parts2.filter(saysSomething), calls),
      finishReason: refusal4 !== "" && finishReason2 === "stop" ? "content_filter" : finishReason2,
      rawFinishReason,
      usage: usage2 === void 0 ? void 0 : parseUsage(usage2),
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
  const url = asText(given) ?? asText(asObject(given)?.["url"]);
  if (url === void 0) return void 0;
  const inline = /^data:([^;,]+);base64,/.exec(url);
  const [lead = "", mimeType = ""] = inline ?? [];
  return inline === null ? { type: "url", url } : { type: "base64", base64: url.slice(lead.length), mimeType };
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
  const text4 = detail["text"] ?? detail["summary"];
  return typeof text4 === "string" ? text4 : "";
}

// ../../src/providers/openai/chat/text-blocks.ts
function textBlocks(draft) {
  let open2;
  let grown = "";
  let slot = 0;
  const turnTo = (kind, out) => {
    begin(draft, out);
    end2(out);
    open2 = kind;
    grown = "";
    slot = draft.parts.push({ type: kind, text: "" }) - 1;
  };
  const end2 = (out) => {
    if (open2 === "text") {
      draft.parts[slot] = { type: "text", text: grown };
      out.push({ type: "text_completed", text: grown });
    } else if (open2 === "reasoning") {
      const { opaque } = blocks;
      const { provider: provider2 } = draft.notes;
      draft.parts[slot] = defined({
        type: "reasoning",
        text: grown,
        opaque,
        provider: provider2
      });
      out.push(defined({ type: "reasoning_completed", text: grown, opaque }));
      blocks.opaque = void 0;
    }
    open2 = void 0;
  };
  const blocks = {
    opaque: void 0,
    text(delta, out) {
      if (open2 !== "text") turnTo("text", out);
      grown += delta;
      out.push({ type: "text_delta", delta });
    },
    reasoning(delta, out) {
      if (open2 !== "reasoning") turnTo("reasoning", out);
      if (delta === "") return;
      grown += delta;
      out.push({ type: "reasoning_delta", delta });
    },
    endReasoning(out) {
      if (open2 === "reasoning") end2(out);
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
  const open2 = { draft, newId, calls: [], started: [], byIndex: /* @__PURE__ */ new Map() };
  return {
    take: (fragment, position, out) => takeFragment(open2, fragment, position, out),
    end(out) {
      for (const call of open2.calls) if (!call.started) start2(open2, call, out);
      for (const { id, name: name2, raw, opaque } of open2.started) {
        const call = defined({ id, name: name2, ...parseArguments(raw), opaque });
        draft.calls.push(call);
        out.push({ type: "tool_call_completed", call });
      }
    }
  };
}
function takeFragment(open2, fragment, position, out) {
  const made2 = asObject(fragment["function"]);
  const id = asText(fragment["id"]);
  const name2 = asText(made2?.["name"]);
  const call = findCall(open2, id, name2, asCount(fragment["index"]) ?? position);
  const piece = argumentsText(made2?.["arguments"]);
  call.wireId ??= id;
  if (call.name === "") call.name = name2 ?? "";
  const extra = fragment["extra_content"];
  if (extra) call.opaque = { extra_content: extra };
  call.raw += piece;
  if (!call.started) {
    if (call.wireId !== void 0 && call.name !== "") start2(open2, call, out);
  } else if (piece !== "") {
    out.push({ type: "tool_call_delta", id: call.id, argumentsDelta: piece });
  }
}
function findCall(open2, id, name2, index) {
  if (index !== void 0) {
    const known2 = open2.byIndex.get(index);
    if (known2 !== void 0 && !(name2 !== void 0 && isAnother(known2, id))) return known2;
    const call = addCall(open2);
    open2.byIndex.set(index, call);
    return call;
  }
  const last = open2.calls.at(-1);
  const same = id === void 0 ? last : open2.calls.find((call) => call.wireId === id);
  const begins = id === void 0 && name2 !== void 0 && last?.raw !== "";
  return same === void 0 || begins ? addCall(open2) : same;
}
function isAnother({ wireId: wireId2, raw }, id) {
  if (id !== void 0) return wireId2 !== void 0 && wireId2 !== id;
  return wireId2 === void 0 && Object.keys(parseArguments(raw).arguments).length > 0;
}
function addCall(open2) {
  const call = {
    wireId: void 0,
    id: "",
    name: "",
    raw: "",
    started: false,
    opaque: void 0
  };
  open2.calls.push(call);
  return call;
}
function start2({ draft, newId, started }, call, out) {
  begin(draft, out);
  call.started = true;
  const { wireId: wireId2 } = call;
  const taken = wireId2 === void 0 || started.some((other) => other.id === wireId2);
  call.id = taken ? newId() : wireId2;
  started.push(call);
  out.push({ type: "tool_call_started", id: call.id, name: call.name });
  if (call.raw !== "") {
    out.push({ type: "tool_call_delta", id: call.id, argumentsDelta: call.raw });
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
    take: (delta, whole2, out) => takeDelta(answer2, delta, whole2, out),
    end(out) {
      answer2.blocks.end(out);
      answer2.tools.end(out);
    }
  };
}
function takeDelta(answer2, delta, whole2, out) {
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
  if (delta["tool_calls"] || delta["function_call"]) takeTools(answer2, delta, whole2, out);
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
  const text4 = delta[field];
  const pieces = asList(delta["reasoning_details"]);
  if (typeof text4 === "string" && text4 !== "") {
    blocks.reasoning(text4, out);
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
    const said3 = asText(thought) ?? asText(asObject(thought)?.["text"]);
    if (said3 !== void 0) blocks.reasoning(said3, out);
  }
  const text4 = asText(part2["text"]);
  if (text4 !== void 0) blocks.text(text4, out);
  else takeImage(answer2, part2, out);
}
function takeImage({ draft }, value, out) {
  const image2 = parseImage(value);
  if (image2 !== void 0) addImage2(draft, image2, out);
}
function takeRefusal({ draft, blocks }, refusal4, out) {
  if (typeof refusal4 !== "string") return;
  draft.refusal += refusal4;
  blocks.text(refusal4, out);
}
function takeTools(answer2, delta, whole2, out) {
  const { blocks, tools: tools3 } = answer2;
  const fragments = asList(delta["tool_calls"]);
  if (fragments.length > 0) blocks.endReasoning(out);
  fragments.forEach((value, position) => {
    const fragment = asObject(value);
    if (fragment !== void 0) tools3.take(fragment, whole2 ? position : void 0, out);
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
  let finishWord2;
  const finish3 = (out) => {
    reader.end(out);
    draft.usage ??= usageInExtras(draft);
    const finishReason2 = chatFinishReason(finishWord2, draft.calls.length > 0);
    complete(draft, { finishReason: finishReason2, rawFinishReason: finishWord2 }, out);
  };
  const takeChoice = (choice, chunk, out) => {
    const streamed2 = asObject(choice["delta"]);
    const whole2 = isWhole(streamed2, choice, draft) ? asObject(choice["message"]) : void 0;
    const delta = whole2 ?? streamed2;
    if (delta !== void 0) reader.take(delta, whole2 !== void 0, out);
    if (choice["logprobs"]) noteList(draft, "logprobs", asObject(choice["logprobs"])?.["content"]);
    if (choice["finish_reason"]) {
      if (choice["error"]) throw reportedError(draft, choice);
      finishWord2 = asText(choice["finish_reason"]) ?? finishWord2;
      noteExtras(draft, chunk, choice);
    }
    if (whole2 !== void 0) finish3(out);
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
      if (finishWord2 !== void 0) finish3(out);
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
  let text4 = "";
  return {
    isDocument: true,
    feed(chunk) {
      text4 += chunk;
      if (text4.length > limit) throw new RangeError(`the body is longer than ${limit} characters`);
    },
    end(onEvent) {
      if (text4.trim() !== "") onEvent(text4, void 0);
      text4 = "";
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
    const check3 = { limits, readFile, issues, path: `messages[${index}].content` };
    const content2 = await resolveParts(message3.content, message3.role === "system", check3);
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
    const outcome2 = inSystem ? { problem: "is an image, and a system message holds text only" } : await resolveImage(part2.image, limits, readFile);
    if (outcome2.problem !== void 0) {
      issues.push({ path: `${path}[${index}]`, problem: outcome2.problem });
    } else if (outcome2.image !== part2.image) {
      resolved ??= [...parts2];
      resolved[index] = { ...part2, image: outcome2.image };
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
function modelFamily(model) {
  return families.find(([name2]) => name2.test(model))?.[1] ?? unknownFamily;
}
function wireEffort(effort, family) {
  const { efforts: efforts3 } = family;
  if (efforts3 === void 0) return effort;
  const wanted = effortScale.indexOf(effort);
  let best;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate2 of efforts3) {
    const distance = Math.abs(effortScale.indexOf(candidate2) - wanted);
    if (distance <= least) [best, least] = [candidate2, distance];
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
  return Object.fromEntries(Object.keys(members2).map((name2, at2) => [name2, values[at2] ?? {}]));
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
  const required2 = asList(schema["required"]);
  if (Object.keys(properties).some((name2) => !required2.includes(name2))) return void 0;
  return { ...schema, properties, required: required2, additionalProperties: false };
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
function textAlone(message3, provider2) {
  if (partsOf2(message3).some((part2) => part2.type === "image")) {
    const problem = 'Chat Completions takes no images in tool results; api: "responses" does';
    throw new AdapterError("unsupported_feature", problem, { provider: provider2 });
  }
  return messageText(message3);
}
function imageAddress(image2, provider2) {
  switch (image2.type) {
    case "url":
      return image2.url;
    case "base64":
      return `data:${image2.mimeType};base64,${image2.base64}`;
    case "file":
      throw new AdapterError("unsupported_feature", `the image ${image2.path} was not read`, {
        provider: provider2
      });
    default:
      return assertNever(image2);
  }
}
function argumentsJson(call) {
  const { rawArguments, arguments: decoded } = call;
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
function renderUserContent(message3, { provider: provider2 }) {
  const parts2 = partsOf2(message3).filter((part2) => part2.type !== "reasoning");
  const [only] = parts2;
  if (parts2.length === 0) return "";
  if (parts2.length === 1 && only?.type === "text") return only.text;
  return parts2.map(
    (part2) => part2.type === "text" ? { type: "text", text: part2.text } : {
      type: "image_url",
      image_url: defined({
        url: imageAddress(part2.image, provider2),
        detail: part2.detail
      })
    }
  );
}
function renderAssistant(message3, { provider: provider2 }, ids) {
  const calls = message3.toolCalls ?? [];
  const parts2 = partsOf2(message3);
  const text4 = messageText(message3);
  const onlyImages = text4 === "" && parts2.some((part2) => part2.type === "image");
  return defined({
    role: "assistant",
    content: onlyImages ? "[image]" : text4 === "" && calls.length > 0 ? null : text4,
    name: message3.name,
    tool_calls: calls.length === 0 ? void 0 : calls.map((call) => renderCall(call, ids)),
    ...calls.length === 0 ? {} : echoReasoning(parts2, provider2)
  });
}
function echoReasoning(parts2, provider2) {
  const echo = {};
  for (const part2 of parts2) {
    if (part2.type !== "reasoning" || part2.provider !== provider2) continue;
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
function renderCall(call, ids) {
  return defined({
    id: ids.call(call.id),
    type: "function",
    function: { name: call.name, arguments: argumentsJson(call) },
    extra_content: asObject(call.opaque)?.["extra_content"]
  });
}
function renderToolResult(message3, { provider: provider2 }, ids) {
  const content2 = textAlone(message3, provider2);
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
function renderContent(message3, { provider: provider2 }) {
  const parts2 = partsOf2(message3).filter((part2) => part2.type !== "reasoning");
  const [only] = parts2;
  if (parts2.length === 0) return "";
  if (parts2.length === 1 && only?.type === "text") return only.text;
  return parts2.map(
    (part2) => part2.type === "text" ? { type: "input_text", text: part2.text } : {
      type: "input_image",
      image_url: imageAddress(part2.image, provider2),
      detail: part2.detail ?? "auto"
    }
  );
}
function renderAssistant2(message3, options, ids) {
  const calls = (message3.toolCalls ?? []).map((call) => renderCall2(call, ids));
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
function said(text4) {
  return { type: "message", role: "assistant", content: text4 };
}
function renderOwnImage({ image: image2 }) {
  const id = asText(image2.metadata?.["id"]);
  if (image2.type !== "base64" || id === void 0) return said("[image]");
  return { type: "image_generation_call", id, status: "completed", result: image2.base64 };
}
function renderReasoning(part2, { provider: provider2, family, stored }) {
  const opaque = asObject(part2.opaque);
  const id = asText(opaque?.["id"]);
  const encrypted2 = asText(opaque?.["encrypted_content"]);
  if (part2.provider !== provider2 || id === void 0) return void 0;
  const refused2 = !family.reasons && family.efforts !== void 0;
  if (refused2 || encrypted2 === void 0 && !stored) return void 0;
  return defined({
    type: "reasoning",
    id,
    summary: part2.text === "" ? [] : [{ type: "summary_text", text: part2.text }],
    encrypted_content: encrypted2
  });
}
function renderCall2(call, ids) {
  return {
    type: "function_call",
    call_id: ids.call(call.id),
    name: call.name,
    arguments: argumentsJson(call)
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
  const { provider: provider2, endpoint, stream } = context;
  if (request2.model === void 0 || request2.model === "") {
    throw new EngineError("missing_model", `${provider2} needs a model`, { provider: provider2 });
  }
  const { openai: openai2 } = request2.providerOptions;
  const own = provider2 === "openai" ? void 0 : request2.providerOptions[provider2];
  const over2 = mergeBody(openai2 ?? {}, own);
  const options = {
    ...context,
    family: modelFamily(request2.model),
    stored: over2["store"] === true
  };
  const rendered = endpoint === "chat" ? renderChat(request2, options) : renderResponses(request2, options);
  const body = mergeBody(rendered.body, over2);
  return { ...rendered, body: stream ? { ...body, stream } : body };
}
function endpointFor(api, model) {
  return api ?? modelFamily(model ?? "").endpoint;
}

// ../../src/providers/openai/prepare-call.ts
var imageLimits = {
  maxBytes: 20 * 1024 * 1024,
  mimeTypes: ["image/png", "image/jpeg", "image/webp", "image/gif"]
};
async function prepareCall2(settings, request2, { context, notes, apiKey, ...options }) {
  const { provider: provider2, stream } = context;
  const { requestId } = notes;
  const sendable = hasImages(request2) ? await resolveImages(request2, { provider: provider2, ...imageLimits }) : request2;
  const { path, body, dropped: dropped2 } = renderRequest(sendable, context);
  const { headers, clean } = callHeaders(settings, { apiKey, stream, requestId });
  notes.dropped = dropped2;
  notes.clean = clean;
  return {
    provider: provider2,
    requestId,
    url: addressOf(settings.baseUrl, path),
    headers,
    body: JSON.stringify(body),
    parseFailure: (status2, text4, answered) => parseFailure(provider2, status2, text4, answered),
    splitter: sniffedBody,
    onResponse: (response2) => {
      notes.providerRequestId = response2.headers.get("x-request-id") ?? void 0;
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
function responseEnd(response2, hasCalls) {
  const status2 = asText(response2["status"]);
  const why = asText(asObject(response2["incomplete_details"])?.["reason"]);
  if (status2 !== "incomplete") {
    const known2 = status2 === "completed" || status2 === void 0;
    const ended = hasCalls ? "tool_calls" : "stop";
    return { finishReason: known2 ? ended : "other", rawFinishReason: status2 };
  }
  return { finishReason: cutReason(why), rawFinishReason: why ?? status2 };
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
  const { call } = item;
  if (call === void 0) return;
  const whole2 = asText(wire["arguments"]);
  if (item.text === "" && whole2 !== void 0) growCall2(item, whole2, out);
  const done = { id: call.id, name: call.name, ...parseArguments(whole2 ?? item.text) };
  draft.calls[call.slot] = done;
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
  const said3 = part2 !== item.part && item.text !== "" ? gap + delta : delta;
  item.part = part2;
  item.text += said3;
  out.push(defined({ type: "reasoning_delta", delta: said3, index: item.index }));
}
function endReasoning(draft, item, wire, out) {
  const whole2 = reasoningText(wire);
  const opaque = opaqueOf(wire, draft.calls.length);
  if (whole2 === "" && item.text === "" && opaque === void 0) return;
  if (item.text === "" && whole2 !== "") growReasoning(draft, item, { part: 0, delta: whole2 }, out);
  openReasoning(draft, item, out);
  const text4 = whole2 === "" ? item.text : whole2;
  const { index, slot = 0 } = item;
  const { provider: provider2 } = draft.notes;
  draft.parts[slot] = defined({ type: "reasoning", text: text4, opaque, provider: provider2 });
  out.push(defined({ type: "reasoning_completed", text: text4, index, opaque }));
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
function openText(draft, item, { contentIndex, refusal: refusal4 }, out) {
  const known2 = item.texts.get(contentIndex);
  if (known2 !== void 0) return known2;
  begin(draft, out);
  const slot = draft.parts.push({ type: "text", text: "" }) - 1;
  const block2 = { slot, index: item.index, refusal: refusal4, text: "", done: false };
  item.texts.set(contentIndex, block2);
  return block2;
}
function growText(draft, block2, delta, out) {
  const { index } = block2;
  block2.text += delta;
  if (block2.refusal) draft.refusal += delta;
  out.push(
    index === void 0 ? { type: "text_delta", delta } : { type: "text_delta", delta, index }
  );
}
function endText(draft, block2, whole2, out) {
  if (block2.done) return;
  if (whole2 !== void 0 && whole2.length > block2.text.length && whole2.startsWith(block2.text)) {
    growText(draft, block2, whole2.slice(block2.text.length), out);
  }
  const { index } = block2;
  const text4 = whole2 ?? block2.text;
  block2.done = true;
  draft.parts[block2.slot] = { type: "text", text: text4 };
  out.push(defined({ type: "text_completed", text: text4, index }));
}
function endMessageItem(draft, item, wire, out) {
  asList(wire["content"]).forEach((value, contentIndex) => {
    const part2 = asObject(value) ?? {};
    const refusal4 = part2["type"] === "refusal";
    const whole2 = asText(refusal4 ? part2["refusal"] : part2["text"]);
    if (whole2 !== void 0) {
      endText(draft, openText(draft, item, { contentIndex, refusal: refusal4 }, out), whole2, out);
    }
    noteList(draft, "annotations", part2["annotations"]);
    noteList(draft, "logprobs", part2["logprobs"]);
  });
  for (const block2 of item.texts.values()) endText(draft, block2, void 0, out);
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
    textDelta(event, refusal4, out) {
      const delta = event["delta"];
      if (typeof delta !== "string" || delta === "") return;
      growText(draft, textOf(output, event, refusal4, out), delta, out);
    },
    textDone(event, refusal4, out) {
      const whole2 = asText(event[refusal4 ? "refusal" : "text"]);
      if (whole2 !== void 0) endText(draft, textOf(output, event, refusal4, out), whole2, out);
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
      const whole2 = asText(event["arguments"]);
      if (whole2 !== void 0 && item.text === "") growCall2(item, whole2, out);
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
function textOf(output, event, refusal4, out) {
  const item = event["output_index"] ?? event["item_id"];
  const part2 = event["content_index"];
  const { writing } = output;
  if (writing !== void 0 && item === output.writingItem && part2 === output.writingPart) {
    return writing;
  }
  const place = { contentIndex: asCount(part2) ?? 0, refusal: refusal4 };
  const block2 = openText(output.draft, itemOfEvent(output, event), place, out);
  output.writing = block2;
  output.writingItem = item;
  output.writingPart = part2;
  return block2;
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
  const response2 = asObject(event["response"]);
  if (response2 === void 0) {
    if (event["error"]) throw reportedError(draft, event);
    return;
  }
  noteHead(draft, response2);
  if (type === "response.failed") throw failedResponse(draft, response2);
  if (endings.has(type)) finish2(answer2, response2, out);
}
function finish2({ draft, items }, response2, out) {
  noteHead(draft, response2);
  const status2 = response2["status"];
  if (status2 === "failed" || status2 === "cancelled") throw failedResponse(draft, response2);
  draft.usage = asObject(response2["usage"]);
  items.end(response2["output"], out);
  noteEnd(draft, response2);
  complete(draft, responseEnd(response2, draft.calls.length > 0), out);
}
var endings = /* @__PURE__ */ new Set([
  "response.completed",
  "response.incomplete",
  "response.cancelled",
  "response.done"
]);
function failedResponse(draft, response2) {
  const error = response2["error"] ?? { message: `the response is ${asText(response2["status"])}` };
  return reportedError(draft, { error });
}
function noteEnd(draft, response2) {
  for (const name2 of ["incomplete_details", "service_tier"]) {
    const value = response2[name2];
    if (value !== void 0 && value !== null) draft.metadata[name2] = value;
  }
}

// ../../src/providers/openai/open-call.ts
function openCall(settings, request2, options, stream) {
  const { provider: provider2 } = settings;
  const endpoint = endpointFor(settings.api, request2.model);
  const decoding = decoderOptions(provider2, options);
  const { notes } = decoding;
  const context = { provider: provider2, endpoint, stream, sessionId: options.sessionId };
  return {
    source: () => prepareCall2(settings, request2, { ...options, context, notes }),
    decoder: endpoint === "chat" ? chatDecoder(decoding) : responsesDecoder(decoding)
  };
}

// ../../src/providers/openai/openai.ts
function openai(options = {}) {
  const settings = settleOptions(options);
  const { provider: provider2, official, hasKey } = settings;
  return {
    provider: provider2,
    needsModel: true,
    key: { required: official, own: hasKey },
    stream(request2, callOptions2 = {}) {
      const { source, decoder: decoder2 } = openCall(settings, request2, callOptions2, true);
      return streamSse(source, decoder2);
    },
    async generate(request2, callOptions2 = {}) {
      const { source, decoder: decoder2 } = openCall(settings, request2, callOptions2, false);
      const events = [];
      for await (const batch of streamSse(source, decoder2)) events.push(...batch);
      return collectEventsSync(events);
    }
  };
}

// ../../src/providers/anthropic/anthropic-options.ts
var defaultBaseUrl2 = "https://api.anthropic.com/v1";
function anthropicSettings(options) {
  assertValid("invalid_options", optionIssues(options));
  const { provider: provider2 = "anthropic", version = "2023-06-01", beta = [] } = options;
  const baseUrl = (options.baseUrl ?? defaultBaseUrl2).replace(/\/+$/, "");
  const headers = {
    "content-type": "application/json",
    "anthropic-version": version
  };
  if (beta.length > 0) headers["anthropic-beta"] = beta.join(",");
  for (const [name2, value] of Object.entries(options.headers ?? {}))
    headers[name2.toLowerCase()] = value;
  return {
    provider: provider2,
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
function parseFailure2(status2, body, headers) {
  const { request_id, ...refused2 } = parseBody(body);
  const error = readError(refused2.error ?? refused2.message ?? refused2.detail);
  const reason = byStatus.get(status2) ?? (status2 >= 500 ? "provider_unavailable" : void 0);
  const retry2 = headers.get("x-should-retry");
  return defined({
    ...parseError(error, reason, `the provider answered ${status2}`),
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
  const { provider: provider2, requestId } = answer2;
  const key = [apiKey, ownKey].find((candidate2) => candidate2 !== void 0 && candidate2 !== "");
  if (key === void 0 && settings.keyRequired) {
    const message3 = `no key for ${provider2}: pass apiKey, or set one`;
    throw new EngineError("missing_key", message3, { provider: provider2, requestId });
  }
  const headers = { ...key === void 0 ? {} : { "x-api-key": key }, ...settings.headers };
  answer2.clean = secretFilter(headers);
  const { signal: signal2, requestTimeoutMs, streamTimeoutMs, clock } = options;
  return {
    provider: provider2,
    url: settings.url,
    headers,
    body,
    parseFailure: parseFailure2,
    splitter: sniffedBody,
    onResponse: (response2) => {
      answer2.providerRequestId = response2.headers.get("request-id") ?? void 0;
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
function modelTraits(model) {
  const name2 = model.toLowerCase();
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
function echoedBlock(part2, provider2) {
  const { opaque } = part2;
  if (part2.provider !== provider2 || !isObject2(opaque)) return void 0;
  const { signature, redacted, block: block2, toolCalls } = opaque;
  const before = typeof toolCalls === "number" ? toolCalls : 0;
  if (typeof signature === "string") {
    return { block: { type: "thinking", thinking: part2.text, signature }, toolCalls: before };
  }
  if (typeof redacted === "string") {
    return { block: { type: "redacted_thinking", data: redacted }, toolCalls: before };
  }
  return isObject2(block2) ? { block: block2, toolCalls: before } : void 0;
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
function renderText(text4) {
  return text4.trim() === "" ? [] : [{ type: "text", text: text4 }];
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
    for (const call of toolCalls.slice(placed, until)) blocks.push(renderCall3(call, context.ids));
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
function isServerToolUse(block2) {
  const type = block2?.["type"];
  return type === "server_tool_use" || type === "mcp_tool_use";
}
function isThinking(block2) {
  const type = block2?.["type"];
  return type === "thinking" || type === "redacted_thinking";
}
function isComplete(block2, answered, isLast) {
  return isLast || !isServerToolUse(block2) || answered.has(block2["id"]);
}
function answeredServerTools(parts2, { provider: provider2 }) {
  const answered = /* @__PURE__ */ new Set();
  for (const part2 of parts2) {
    if (part2.type === "reasoning") answered.add(echoedBlock(part2, provider2)?.block["tool_use_id"]);
  }
  return answered;
}
function renderCall3(call, ids) {
  const block2 = {
    type: "tool_use",
    id: ids.call(call.id),
    name: wireName(call.name, "unnamed"),
    input: renderInput2(call)
  };
  return isObject2(call.opaque) ? { ...block2, ...callFields(call.opaque) } : block2;
}
function renderInput2({ arguments: input, rawArguments = "" }) {
  if (Object.keys(input).length > 0 || parseArguments2(rawArguments) !== void 0) return input;
  return { INVALID_JSON: rawArguments };
}

// ../../src/providers/anthropic/render-messages.ts
var continuation = "Continue.";
function renderMessages(messages2, context) {
  const system = messages2.filter(({ role }) => role === "system").map(messageText);
  const turns = renderTurns(
    messages2.filter(({ role }) => role !== "system"),
    context.provider
  );
  const alone = turns.length === 0 ? system.pop() ?? "" : "";
  if (alone !== "") turns.push({ role: "user", content: [...renderContent2(alone)] });
  if (turns.length === 0) {
    const problem = "has nothing to send: every message is empty";
    throw new ValidationError("invalid_request", [{ path: "messages", problem }]);
  }
  endTurns(turns, context.prefill);
  const lifted2 = system.filter((text4) => text4.trim() !== "").join("\n\n");
  return {
    ...lifted2 === "" ? {} : { system: lifted2 },
    messages: turns.map(toWire)
  };
}
function renderTurns(messages2, provider2) {
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
        const block2 = {
          type: "tool_result",
          tool_use_id: ids.result(id),
          ...resultContent(message3)
        };
        answer(turns, toolset_name === void 0 ? block2 : { ...block2, toolset_name });
        return;
      }
      case "assistant": {
        const isLast = index === messages2.length - 1;
        say(turns, "assistant", renderAssistant3(message3, { provider: provider2, ids, isLast }));
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
function answer(turns, block2) {
  const last = turns.at(-1);
  if (last?.role !== "user") {
    turns.push({ role: "user", content: [block2] });
    return;
  }
  const { content: content2 } = last;
  const at2 = content2.findIndex(({ type }) => type !== "tool_result");
  content2.splice(at2 === -1 ? content2.length : at2, 0, block2);
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
  const block2 = last?.content.at(-1);
  if (last?.role !== "assistant" || isServerToolUse(block2)) return;
  if (!prefill) {
    turns.push({ role: "user", content: [{ type: "text", text: continuation }] });
  } else if (typeof block2?.["text"] === "string") {
    last.content[last.content.length - 1] = { type: "text", text: block2["text"].trimEnd() };
  }
}
function toWire({ role, content: content2 }) {
  const [only] = content2;
  const { type, text: text4 } = only ?? {};
  return content2.length === 1 && type === "text" && text4 !== void 0 ? { role, content: text4 } : { role, content: content2 };
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
function structuredOutput({ responseFormat: responseFormat2, tools: tools3, model }, traits) {
  if (responseFormat2 === void 0 || responseFormat2.type === "text") return { by: "nothing" };
  const isSchema = responseFormat2.type === "json_schema";
  if (isSchema && traits.structuredOutput) {
    const schema2 = strictSchema2(responseFormat2.schema);
    return { by: "format", format: { type: "json_schema", schema: schema2 } };
  }
  if (!traits.forcedTools) {
    const message3 = `${model} has no JSON mode without a schema; give responseFormat a jsonSchema(\u2026)`;
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
function unwrapAnswer(text4) {
  try {
    const parsed = JSON.parse(text4);
    const value = isObject2(parsed) ? parsed["value"] : void 0;
    return value === void 0 ? text4 : JSON.stringify(value);
  } catch {
    return text4;
  }
}

// ../../src/providers/anthropic/render-request.ts
var withoutSampling = "2026-10-21";
function renderRequest2(request2, context) {
  const { model } = request2;
  if (model === void 0) {
    const { provider: provider2 } = context;
    throw new EngineError("missing_model", `${provider2} needs a model`, { provider: provider2 });
  }
  const traits = modelTraits(model);
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
  const { system, messages: messages2 } = renderMessages(request2.messages, { ...context, prefill });
  const sampling = traits.sampling && context.version < withoutSampling && !isThinking2;
  const temperature = sampling ? renderTemperature(request2) : void 0;
  const body = defined({
    model,
    max_tokens: maxTokens,
    system,
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
function withProviderOptions(body, { providerOptions: providerOptions2 }, provider2) {
  const merged2 = mergeOptions(body, providerOptions2.anthropic ?? {});
  return provider2 === "anthropic" ? merged2 : mergeOptions(merged2, providerOptions2[provider2] ?? {});
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
  const { provider: provider2 } = settings;
  const limits = { provider: provider2, maxBytes: maxImageBytes, mimeTypes };
  const request2 = hasImages(plan.request) ? await resolveImages(plan.request, limits) : plan.request;
  const { body, answerTool: answerTool2, adjusted } = renderRequest2(request2, settings);
  answer2.answerTool = answerTool2;
  answer2.adjusted = adjusted;
  return httpCall(settings, JSON.stringify({ ...body, stream }), options, answer2);
}

// ../../src/providers/anthropic/decoder-state.ts
function decoderState(call) {
  return {
    call,
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
function callId({ call }, { head, callsBefore }) {
  return head.id ?? `${call.requestId}_${callsBefore}`;
}

// ../../src/providers/anthropic/close-block.ts
function closeBlock2(state, block2, out) {
  block2.closed = true;
  const { text: text4, signature, head } = block2;
  switch (block2.kind) {
    case "text":
      if (text4 !== "") completeText(block2, text4, out);
      return;
    case "thinking":
      if (text4 !== "" || signature !== "") {
        completeReasoning(state, block2, signature === "" ? void 0 : { signature }, out);
      }
      return;
    case "redacted":
      completeReasoning(state, block2, { redacted: head.data ?? "" }, out);
      return;
    case "tool":
      completeCall(state, block2, out);
      return;
    case "answer":
      completeAnswer(state, block2, out);
      return;
    case "server":
      completeServerBlock(state, block2, out);
      return;
    default:
      assertNever(block2.kind);
  }
}
function completeText(block2, text4, out) {
  block2.part = { type: "text", text: text4 };
  out.push({ type: "text_completed", text: text4, index: block2.index });
}
function completeReasoning({ call }, block2, echo, out) {
  const { index, callsBefore } = block2;
  const text4 = block2.kind === "thinking" ? block2.text : "";
  const toolCalls = callsBefore === 0 ? void 0 : callsBefore;
  const opaque = echo === void 0 ? void 0 : { ...echo, ...defined({ toolCalls }) };
  const { provider: provider2 } = call;
  block2.part = defined({ type: "reasoning", text: text4, opaque, provider: provider2 });
  out.push({
    type: "reasoning_completed",
    text: text4,
    index,
    ...opaque === void 0 ? {} : { opaque }
  });
}
function completeCall(state, block2, out) {
  const id = callId(state, block2);
  const rawArguments = inputText(block2);
  if (block2.text === "" && rawArguments !== "{}") {
    out.push({ type: "tool_call_delta", id, argumentsDelta: rawArguments });
  }
  const opaque = callFields(asJson(block2));
  const call = defined({
    id,
    name: block2.head.name ?? "",
    arguments: parseArguments2(rawArguments) ?? {},
    rawArguments,
    opaque: Object.keys(opaque).length === 0 ? void 0 : opaque
  });
  block2.call = call;
  out.push({ type: "tool_call_completed", call });
}
function completeAnswer({ call, metadata: metadata2 }, block2, out) {
  const raw = inputText(block2);
  const wrapped = call.answerTool?.wrapped === true;
  const text4 = wrapped ? unwrapAnswer(raw) : raw;
  if (wrapped || block2.text === "") {
    out.push({ type: "text_delta", delta: text4, index: block2.index });
  }
  metadata2["structuredOutput"] = "tool";
  completeText(block2, text4, out);
}
function completeServerBlock(state, block2, out) {
  const whole2 = asJson(block2);
  state.serverTools.push(whole2);
  completeReasoning(state, block2, { block: whole2 }, out);
}
function inputText({ text: text4, head }) {
  return text4 === "" ? JSON.stringify(head.input ?? {}) : text4;
}
function asJson({ head, fields, text: text4 }) {
  const input = text4 === "" ? {} : { input: parseArguments2(text4) ?? {} };
  return { ...head, ...fields, ...input };
}

// ../../src/providers/anthropic/decode-block.ts
function startBlock(state, event, out) {
  const head = event.content_block ?? {};
  const known2 = findBlock(state, event.index);
  if (known2 !== void 0) closeBlock2(state, known2, out);
  const block2 = addBlock(state, head, event.index);
  if (block2.kind === "tool") {
    state.calls++;
    out.push({ type: "tool_call_started", id: callId(state, block2), name: head.name ?? "" });
  }
  if (block2.kind === "text") growText2(block2, head.text ?? "", out);
  growThinking(block2, head.thinking ?? "", out);
  block2.signature += head.signature ?? "";
  for (const citation of head.citations ?? []) addCitation(state, block2, citation);
}
function growBlock2(state, event, out) {
  const { delta } = event;
  if (delta === void 0 || delta === null) return;
  const block2 = findBlock(state, event.index) ?? addBlock(state, impliedHead(delta), event.index);
  switch (delta.type ?? "") {
    case "text_delta":
      growText2(block2, delta.text ?? "", out);
      return;
    case "input_json_delta":
      growInput(state, block2, delta.partial_json ?? "", out);
      return;
    case "thinking_delta":
      growThinking(block2, delta.thinking ?? "", out);
      return;
    case "signature_delta":
      block2.signature += delta.signature ?? "";
      return;
    case "citations_delta":
      addCitation(state, block2, delta.citation);
      return;
    default:
      if (block2.kind === "server") growFields(block2, delta);
  }
}
function stopBlock(state, event, out) {
  const block2 = findBlock(state, event.index);
  if (block2 !== void 0) closeBlock2(state, block2, out);
}
function findBlock(state, index) {
  const { current } = state;
  const isMeant = (block2) => !block2.closed && (index ?? block2.index) === block2.index;
  if (current !== void 0 && isMeant(current)) return current;
  const found = state.blocks.findLast(isMeant);
  if (found !== void 0) state.current = found;
  return found;
}
function addBlock(state, head, index) {
  const block2 = {
    kind: kindOf(head, state.call.answerTool?.name),
    index: index ?? state.blocks.length,
    head,
    callsBefore: state.calls,
    text: "",
    signature: "",
    fields: {},
    closed: false
  };
  state.blocks.push(block2);
  state.current = block2;
  return block2;
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
function growText2(block2, delta, out) {
  if (delta === "") return;
  block2.text += delta;
  out.push({ type: "text_delta", delta, index: block2.index });
}
function growThinking(block2, delta, out) {
  if (delta === "") return;
  block2.text += delta;
  out.push({ type: "reasoning_delta", delta, index: block2.index });
}
function growInput(state, block2, delta, out) {
  if (delta === "") return;
  block2.text += delta;
  if (block2.kind === "tool") {
    out.push({ type: "tool_call_delta", id: callId(state, block2), argumentsDelta: delta });
  } else if (block2.kind === "answer" && state.call.answerTool?.wrapped === false) {
    out.push({ type: "text_delta", delta, index: block2.index });
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
  const { requestId, provider: provider2 } = state.call;
  const { id, model, usage: usage2 } = message3;
  out.push(
    defined({
      type: "message_started",
      requestId,
      provider: provider2,
      id: id ?? void 0,
      model: model ?? void 0,
      usage: usage2 === void 0 || usage2 === null ? void 0 : parseUsage2(state.counts)
    })
  );
  for (const chunk of state.early) out.push({ type: "raw_chunk", chunk });
  state.early = [];
}
function growMessage(state, { delta, usage: usage2, ...rest }) {
  state.counts = mergeCounts(state.counts, usage2);
  takeFacts(state, rest);
  if (delta === void 0 || delta === null) return;
  state.stopReason = delta.stop_reason ?? state.stopReason;
  takeFacts(state, delta);
}
function completeMessage2(state, out) {
  for (const block2 of state.blocks) if (!block2.closed) closeBlock2(state, block2, out);
  const parts2 = state.blocks.flatMap(({ part: part2 }) => part2 ?? []);
  const calls = state.blocks.flatMap(({ call }) => call ?? []);
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
function responseMetadata({ call, metadata: metadata2, citations, serverTools }) {
  const { adjusted, providerRequestId } = call;
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
function messageDecoder(call) {
  const state = decoderState(call);
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
function streamError({ call }, event) {
  const { provider: provider2, requestId } = call;
  const { request_id } = event;
  const error = readError(event.error ?? event.message);
  const { reason, message: message3 } = parseStreamError(error);
  const metadata2 = errorFacts2(error, call.providerRequestId ?? request_id);
  return new AdapterError(reason, call.clean(message3), { provider: provider2, requestId, metadata: metadata2 });
}

// ../../src/providers/anthropic/response-of.ts
function responseOf(value, status2, answer2) {
  const events = eventsOfMessage(value);
  if (events === void 0) {
    const { provider: provider2, requestId } = answer2;
    const message3 = `${provider2} answered ${status2} with something that is no message`;
    throw new AdapterError("malformed_response", message3, { provider: provider2, requestId, status: status2 });
  }
  const decoder2 = messageDecoder(answer2);
  const out = [];
  for (const event of events) decoder2.take(event, out);
  return collectEventsSync(out);
}

// ../../src/providers/anthropic/anthropic.ts
function anthropic(options = {}) {
  const settings = anthropicSettings(options);
  const { provider: provider2, keyRequired } = settings;
  const { apiKey: ownKey } = options;
  return {
    provider: provider2,
    needsModel: true,
    key: { required: keyRequired, own: ownKey !== void 0 && ownKey !== "" },
    stream(request2, callOptions2 = {}) {
      const answer2 = expectedAnswer(provider2, callOptions2);
      const plan = { settings, request: request2, options: { ...callOptions2, ownKey }, answer: answer2 };
      return streamSse(() => callFor(plan, true), messageDecoder(answer2));
    },
    async generate(request2, callOptions2 = {}) {
      const answer2 = expectedAnswer(provider2, callOptions2);
      const plan = { settings, request: request2, options: { ...callOptions2, ownKey }, answer: answer2 };
      const { value, status: status2 } = await postForJson(await callFor(plan, false));
      return responseOf(value, status2, answer2);
    }
  };
}
function expectedAnswer(provider2, options) {
  return {
    provider: provider2,
    requestId: options.requestId ?? (options.newId ?? randomId)("request"),
    includeRawChunks: options.includeRawChunks === true,
    adjusted: [],
    clean: (text4) => text4
  };
}

// ../../src/providers/gemini/call-key.ts
function callKey(settings, apiKey) {
  const given = apiKey ?? "";
  const key = given.trim() === "" ? settings.ownKey() : given;
  if (key !== void 0 || !settings.key.required) return key;
  const { provider: provider2 } = settings;
  const message3 = `no key for ${provider2}: give the call or the adapter an apiKey`;
  throw new EngineError("missing_key", message3, { provider: provider2 });
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
function loadImages(request2, provider2) {
  if (!hasImages(request2)) return Promise.resolve(request2);
  return resolveImages(request2, { provider: provider2, maxBytes, mimeTypes: mimeTypes2 });
}

// ../../src/providers/gemini/method-url.ts
function methodUrl(settings, model, method) {
  const { provider: provider2, baseUrl } = settings;
  if (model === void 0 || model === "") {
    throw new EngineError("missing_model", `no model for ${provider2}`, { provider: provider2 });
  }
  const path = model.includes("/") ? model : `models/${model}`;
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
function parseFailure3(provider2, answer2) {
  const { status: status2, body, headers } = answer2;
  const error = errorIn(parseBody2(body));
  if (error === void 0) {
    const message3 = `${provider2} answered ${status2} without an error that can be read`;
    return defined({
      reason: reasonOf3(status2, ""),
      message: message3,
      retryAfterMs: retryAfterMs(headers)
    });
  }
  const failure2 = failureOf2(provider2, error, status2);
  const wait = retryAfterMs(headers);
  return wait === void 0 ? failure2 : { ...failure2, retryAfterMs: wait };
}
function errorIn(value) {
  const body = Array.isArray(value) ? value[0] : value;
  const error = isJsonObject(body) ? body["error"] : void 0;
  if (typeof error === "string") return { message: error };
  return isJsonObject(error) ? error : void 0;
}
function failureOf2(provider2, error, status2 = statusOf(error)) {
  const details = Array.isArray(error.details) ? error.details.filter(isJsonObject) : [];
  const text4 = typeof error.message === "string" && error.message !== "" ? error.message : void 0;
  const badKey = details.some((detail) => detail["reason"] === "API_KEY_INVALID");
  return defined({
    reason: badKey ? "authentication_failed" : reasonOf3(status2, text4 ?? ""),
    message: text4 ?? `${provider2} answered ${status2}`,
    status: status2,
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
function statusOf({ code, status: status2 }) {
  return typeof code === "number" ? code : statusOfWord.get(status2) ?? 500;
}
var invalidRequest = /* @__PURE__ */ new Set([404, 405, 409, 411, 413, 415, 422]);
function reasonOf3(status2, message3) {
  if (status2 === 400) return reasonOf400(message3.toLowerCase());
  if (status2 === 401 || status2 === 403) return "authentication_failed";
  if (status2 === 408) return "timeout";
  if (status2 === 429) return "rate_limited";
  if (invalidRequest.has(status2)) return "invalid_request";
  return status2 >= 500 ? "provider_unavailable" : "unknown";
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
function inexpressible({ provider: provider2, path }, problem) {
  const message3 = `${provider2} can not be told this schema: ${path} ${problem}`;
  return new AdapterError("unsupported_feature", message3, { provider: provider2, metadata: { path } });
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
  const { properties, required: required2, additionalProperties } = schema;
  if (isJsonObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    throw inexpressible(place, "has members whose names are not known");
  }
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return {};
  const members2 = Object.entries(properties).map(([name2, member2]) => [
    name2,
    isJsonObject(member2) ? openApiSchema(member2, inside(place, "properties", name2)) : member2
  ]);
  const known2 = isJsonList(required2) ? required2.filter((name2) => typeof name2 === "string" && Object.hasOwn(properties, name2)) : [];
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
  const tuple2 = prefixItems ?? (isJsonList(items) ? items : void 0);
  if (tuple2 !== void 0) {
    result["prefixItems"] = visitList(tuple2, inside(place, "prefixItems"), walk);
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
function renderFormat2(format, { provider: provider2, schemas }) {
  const responseMimeType = "application/json";
  switch (format.type) {
    case "text":
      return {};
    case "json_object":
      return { responseMimeType };
    case "json_schema": {
      const place = { provider: provider2, path: "responseFormat.schema" };
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
function echoOf({ text: text4, opaque }) {
  if (typeof opaque === "string") return { type: "thought", text: text4, signature: opaque };
  if (isJsonObject(opaque)) {
    const { thoughtSignature, on, part: part2 } = opaque;
    if (isJsonObject(part2)) return { type: "part", part: part2 };
    if (typeof thoughtSignature === "string" && on === "previous") {
      return { type: "signature", signature: thoughtSignature };
    }
  }
  return { type: "thought", text: text4 };
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
function endingOf(url) {
  const path = /^[^?#]*/.exec(url)?.[0] ?? "";
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
      const { text: text4, signature } = echo;
      if (text4 === "" && signature === void 0) return;
      const signed = signature === void 0 ? {} : { thoughtSignature: signature };
      parts2.push({ text: text4, thought: true, ...signed });
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
  return calls.map((call, index) => {
    const own = callEchoOf(call.opaque).thoughtSignature;
    const thoughtSignature = needsSignature && index === 0 ? signatureOfForeignCalls : own;
    return {
      functionCall: { ...wireId(call), name: call.name, args: call.arguments },
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
  return answers.flatMap(({ result, call }) => {
    if (call === void 0) throw unasked(result);
    return renderResult(result, call, target);
  });
}
function renderResult({ message: message3, path }, call, { family }) {
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
    ...wireId(call),
    name: call.name,
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
  const system = [];
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
        if (messageText(message3) !== "") system.push({ text: messageText(message3) });
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
  return { system, contents: turns.map(({ role, parts: parts2 }) => ({ role, parts: parts2 })) };
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
function modelFamily2(model) {
  const name2 = model.slice(model.lastIndexOf("/") + 1);
  const match = named.exec(name2);
  const [, major, minor = "0"] = match ?? [];
  return {
    version: major === void 0 ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor),
    tier: name2.includes("flash") ? "flash" : name2.includes("pro") ? "pro" : "other",
    gemini: match !== null
  };
}

// ../../src/providers/gemini/render-target.ts
function renderTarget(model, options = {}) {
  const { provider: provider2 = "gemini", baseUrl = "" } = options;
  const family = modelFamily2(model);
  const old = family.version < 205 || baseUrl.endsWith("/v1");
  return { provider: provider2, family, schemas: old ? "open_api" : "json_schema" };
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
function renderParameters(schema, path, { provider: provider2, schemas }) {
  const place = { provider: provider2, path };
  const plain2 = { type: "object", ...plainSchema(schema, place) };
  if (takesNothing(plain2)) return {};
  return schemas === "json_schema" ? { parametersJsonSchema: plain2 } : { parameters: openApiSchema(plain2, place) };
}
function takesNothing({ properties, additionalProperties, anyOf }) {
  const named3 = isJsonObject(properties) && Object.keys(properties).length > 0;
  const others = additionalProperties === true || isJsonObject(additionalProperties);
  return !named3 && !others && anyOf === void 0;
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
  const { system, contents } = renderContents(messages2, target);
  const config = renderConfig(request2, target);
  const body = {
    ...system.length === 0 ? {} : { systemInstruction: { parts: system } },
    contents,
    ...tools3.length === 0 ? {} : { tools: renderTools2(tools3, target) },
    ...tools3.length === 0 || toolChoice === void 0 ? {} : { toolConfig: renderToolChoice(toolChoice) },
    ...Object.keys(config).length === 0 ? {} : { generationConfig: config }
  };
  const { gemini: shared3 = {} } = providerOptions2;
  const own = target.provider === "gemini" ? {} : providerOptions2[target.provider] ?? {};
  return mergeBody2(mergeBody2(body, shared3), own);
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
      for (let at2 = 0; at2 < chunk.length; at2++) {
        const before = depth;
        step(chunk.charCodeAt(at2));
        if (before === 0 && depth === 1) start4 = at2;
        else if (before === 1 && depth === 0) {
          const text4 = pieces.join("") + chunk.slice(start4, at2 + 1);
          start4 = -1;
          pieces = [];
          size = 0;
          onEvent(text4, void 0);
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
    const at2 = lineStart && chunk.startsWith("{") ? 0 : afterBreak(chunk);
    if (at2 === -1) {
      lineStart = /[\r\n]$/.test(chunk);
      events.feed(chunk, onEvent);
      return;
    }
    events.feed(chunk.slice(0, at2), onEvent);
    events.end(onEvent);
    framing = "objects";
    objects.feed(chunk.slice(at2), onEvent);
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
  const text4 = chunk.trimStart();
  if (text4 === "") return "unknown";
  return text4.startsWith("[") || text4.startsWith("{") ? "objects" : "events";
}
function cutOff({ provider: provider2, requestId }) {
  const message3 = `the answer of ${provider2} ended inside an event`;
  return new StreamError("truncated", message3, { provider: provider2, requestId });
}
function afterBreak(chunk) {
  const at2 = chunk.search(/[\r\n]\{/);
  return at2 === -1 ? -1 : at2 + 1;
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
  const { provider: provider2, headers, fetch } = settings;
  const url = methodUrl(settings, request2.model, method);
  const body = renderRequest3(await loadImages(request2, provider2), settings);
  const key = callKey(settings, options.apiKey);
  const { requestId, signal: signal2, requestTimeoutMs, streamTimeoutMs, clock } = options;
  return {
    provider: provider2,
    requestId,
    url,
    headers: {
      "content-type": "application/json",
      ...key === void 0 ? {} : { "x-goog-api-key": key },
      ...headers
    },
    body: JSON.stringify(body),
    parseFailure: (status2, text4, answered) => parseFailure3(provider2, { status: status2, body: text4, headers: answered }),
    splitter: () => bodySplitter({ provider: provider2, requestId }),
    fetch,
    signal: signal2,
    requestTimeoutMs,
    streamTimeoutMs,
    clock
  };
}

// ../../src/providers/gemini/answer.ts
function newAnswer(provider2) {
  return { provider: provider2, parts: [], calls: [], open: "none", text: "", continues: false };
}
function addText(answer2, text4, signature, out) {
  if (text4 === "" && signature === void 0) return;
  const joins = signature === void 0 || answer2.continues;
  if (answer2.open !== "text" || !joins) closeBlock3(answer2, out);
  if (text4 !== "") {
    answer2.open = "text";
    answer2.text += text4;
    out.push({ type: "text_delta", delta: text4 });
  }
  if (signature === void 0) return;
  if (answer2.open === "none") {
    addReasoning2(answer2, wholePart({ text: text4, thoughtSignature: signature }), out);
    return;
  }
  closeBlock3(answer2, out);
  addReasoning2(answer2, signatureOfPrevious(signature), out);
}
function addThought(answer2, text4, signature, out) {
  if (text4 === "" && signature === void 0) return;
  const joins = signature === void 0 || answer2.continues && text4 === "";
  if (answer2.open !== "thought" || !joins) closeBlock3(answer2, out);
  if (text4 !== "") {
    answer2.open = "thought";
    answer2.text += text4;
    out.push({ type: "reasoning_delta", delta: text4 });
  }
  if (signature === void 0) return;
  const whole2 = answer2.text;
  answer2.open = "none";
  answer2.text = "";
  addReasoning2(answer2, signature, out, whole2);
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
  const { open: open2, text: text4 } = answer2;
  if (open2 === "none") return;
  answer2.open = "none";
  answer2.text = "";
  if (open2 === "thought") {
    addReasoning2(answer2, void 0, out, text4);
    return;
  }
  answer2.parts.push({ type: "text", text: text4 });
  out.push({ type: "text_completed", text: text4 });
}
function addReasoning2(answer2, opaque, out, text4 = "") {
  const { provider: provider2 } = answer2;
  answer2.parts.push(defined({ type: "reasoning", text: text4, opaque, provider: provider2 }));
  out.push(
    defined({
      type: "reasoning_completed",
      text: text4,
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
  const { answer: answer2, calls, metadata: metadata2, usage: usage2 } = decoding;
  calls.close(out);
  closeBlock3(answer2, out);
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(answer2.parts, answer2.calls),
      finishReason: finishReasonOf(finish3, answer2.calls.length > 0),
      rawFinishReason: finish3,
      usage: usage2 === void 0 ? void 0 : parseUsage3(usage2),
      metadata: Object.keys(metadata2).length === 0 ? void 0 : metadata2
    })
  );
}

// ../../src/providers/gemini/answer-metadata.ts
function noteCandidate(metadata2, candidate2) {
  for (const key in candidate2) {
    if (candidate2[key] === null) continue;
    switch (key) {
      case "content":
      case "finishReason":
      case "index":
        break;
      case "citationMetadata":
      case "logprobsResult":
        appendLists(metadata2, key, candidate2[key]);
        break;
      default:
        metadata2[key] = merged(metadata2[key], fromWire(candidate2[key]));
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
  const { text: text4, thoughtSignature } = part2;
  const signature = typeof thoughtSignature === "string" && thoughtSignature !== "" ? thoughtSignature : void 0;
  if (typeof text4 === "string") {
    if (part2.thought === true) addThought(answer2, text4, signature, out);
    else addText(answer2, text4, signature, out);
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
  const { provider: provider2, requestId, hideKey } = facts2;
  const error = JSON.parse(hideKey(JSON.stringify(answer2.error)));
  const known2 = errorIn({ error }) ?? { message: String(error) };
  const { reason, message: message3, ...details } = failureOf2(provider2, known2);
  return new AdapterError(reason, message3, { provider: provider2, requestId, ...details });
}
function blockedPrompt(answer2, facts2) {
  const { provider: provider2, requestId } = facts2;
  const { promptFeedback = {}, usageMetadata: usageMetadata2 } = answer2;
  const { blockReason, blockReasonMessage } = promptFeedback;
  const words2 = typeof blockReasonMessage === "string" ? ` (${blockReasonMessage})` : "";
  const message3 = `${provider2} blocked the prompt: ${JSON.stringify(blockReason)}${words2}`;
  const usage2 = usageMetadata2 === void 0 ? {} : { usageMetadata: usageMetadata2 };
  const metadata2 = { promptFeedback, ...usage2 };
  return new AdapterError("content_filter", message3, { provider: provider2, requestId, metadata: metadata2 });
}
function malformedAnswer(facts2, cause) {
  const { provider: provider2, requestId } = facts2;
  const message3 = `${provider2} answered without a candidate that has a finish reason`;
  return new AdapterError("malformed_response", message3, { provider: provider2, requestId, cause });
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
  const candidate2 = firstCandidate(chunk.candidates);
  if (candidate2 === void 0 && typeof chunk.promptFeedback?.["blockReason"] === "string") {
    throw blockedPrompt(chunk, decoding.facts);
  }
  if (!decoding.started) {
    if (candidate2 === void 0) return;
    start3(decoding, chunk, out);
  }
  if (decoding.includeRawChunks) out.push({ type: "raw_chunk", chunk });
  noteAnswer(decoding.metadata, chunk);
  if (candidate2 !== void 0) decodeCandidate(decoding, candidate2, out);
}
function decodeCandidate(decoding, candidate2, out) {
  const parts2 = candidate2.content?.parts;
  if (Array.isArray(parts2)) {
    const { answer: answer2 } = decoding;
    answer2.continues = true;
    for (const part2 of parts2) {
      if (isJsonObject(part2)) decodePart(decoding, part2, out);
      answer2.continues = false;
    }
  }
  const { finishReason: finishReason2 } = candidate2;
  if (typeof finishReason2 === "string" && finishReason2 !== "") decoding.finish = finishReason2;
  noteCandidate(decoding.metadata, candidate2);
}
function start3(decoding, chunk, out) {
  const { facts: facts2, usage: usage2 } = decoding;
  const { provider: provider2, requestId } = facts2;
  decoding.started = true;
  decoding.id = text2(chunk.responseId);
  out.push(
    defined({
      type: "message_started",
      requestId,
      provider: provider2,
      id: decoding.id,
      model: text2(chunk.modelVersion),
      usage: usage2 === void 0 ? void 0 : parseUsage3(usage2)
    })
  );
}
function firstCandidate(candidates) {
  if (!Array.isArray(candidates)) return void 0;
  for (const candidate2 of candidates) {
    if (isJsonObject(candidate2) && (candidate2["index"] ?? 0) === 0) return candidate2;
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
  let open2;
  const close = (out) => {
    if (open2 === void 0) return;
    const { name: name2, args, signature, ...id } = open2;
    open2 = void 0;
    complete2(answer2, toolCall2(name2, args.root, id, signature), out);
  };
  const begin3 = (call, name2, out) => {
    close(out);
    closeBlock3(answer2, out);
    const id = idOf(call.id);
    out.push({ type: "tool_call_started", id: id.id, name: name2 });
    return id;
  };
  return {
    close,
    add(call, signature, out) {
      const { name: name2, partialArgs: pieces, willContinue } = call;
      if (typeof name2 === "string" && name2 !== "") {
        const id = begin3(call, name2, out);
        if (!pieces && willContinue !== true) {
          complete2(answer2, toolCall2(name2, call.args, id, signature), out);
          return;
        }
        open2 = { ...id, name: name2, args: partialArgs(), signature };
      }
      if (open2 === void 0) return;
      open2.signature ??= signature;
      for (const piece of pieces ?? []) addPartialArg(open2.args, piece);
      if (willContinue !== true) close(out);
    }
  };
}
function complete2(answer2, call, out) {
  answer2.calls.push(call);
  out.push({ type: "tool_call_completed", call });
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
  const { provider: provider2 } = settings;
  let hide;
  const facts2 = { provider: provider2, requestId, hideKey: (text4) => hide?.(text4) ?? text4 };
  const { includeRawChunks, newId } = given;
  return {
    decoder: answerDecoder({ ...facts2, history: request2.messages, includeRawChunks, newId }),
    call: async () => {
      const call = await callFor2(settings, request2, { ...given, requestId }, method);
      hide = secretFilter(call.headers);
      return call;
    }
  };
}

// ../../src/providers/gemini/settings.ts
function settle(options) {
  assertValid("invalid_options", optionIssues2(options));
  const { apiVersion = "v1beta", provider: provider2 = "gemini", fetch, apiKey } = options;
  const standard = `https://generativelanguage.googleapis.com/${apiVersion}`;
  const baseUrl = (options.baseUrl ?? standard).replace(/\/+$/, "");
  const own = apiKey !== void 0 && apiKey.trim() !== "";
  return {
    provider: provider2,
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
  const { provider: provider2, key } = settings;
  return {
    provider: provider2,
    needsModel: true,
    key,
    stream(request2, callOptions2 = {}) {
      const { call, decoder: decoder2 } = openCall2(settings, request2, callOptions2, "streamGenerateContent");
      return streamSse(call, decoder2);
    },
    generate: (request2, callOptions2 = {}) => generate2(settings, request2, callOptions2)
  };
}
async function generate2(settings, request2, options) {
  const { call, decoder: decoder2 } = openCall2(settings, request2, options, "generateContent");
  const { value } = await postForJson(await call());
  const events = [];
  decoder2.decodeWhole(value, events);
  return collectEventsSync(events);
}

// ../../src/server/create-fake-server.ts
import { once, setMaxListeners } from "node:events";
import { createServer } from "node:http";
import { setImmediate as setImmediate2 } from "node:timers/promises";

// ../../src/wire/prng.ts
function seededRandom(seed2) {
  let state = Math.trunc(seed2) | 0;
  return () => {
    state = state + 1831565813 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 4294967296;
  };
}

// ../../src/wire/chunking.ts
function rechunk(frames, { seed: seed2, maxBytes: maxBytes2 }) {
  const random = seededRandom(seed2);
  const longest2 = Math.max(1, Math.floor(maxBytes2));
  const result = [];
  for (const run of joinFrames(frames)) {
    let from = 0;
    while (from < run.bytes.length) {
      const to = from + 1 + Math.floor(random() * longest2);
      const bytes = run.bytes.subarray(from, to);
      const first2 = from === 0 && run.delayMs !== void 0;
      result.push(first2 ? { bytes, delayMs: run.delayMs } : { bytes });
      from = to;
    }
  }
  return result;
}
function joinFrames(frames) {
  const runs = [];
  for (const { bytes, delayMs: delayMs2 } of frames) {
    const run = runs.at(-1);
    if (run === void 0 || delayMs2 !== void 0) runs.push({ parts: [bytes], delayMs: delayMs2 });
    else run.parts.push(bytes);
  }
  return runs.map(({ parts: parts2, delayMs: delayMs2 }) => {
    const bytes = concat(parts2);
    return delayMs2 === void 0 ? { bytes } : { bytes, delayMs: delayMs2 };
  });
}
function concat(parts2) {
  const result = new Uint8Array(parts2.reduce((size, part2) => size + part2.length, 0));
  let at2 = 0;
  for (const part2 of parts2) {
    result.set(part2, at2);
    at2 += part2.length;
  }
  return result;
}

// ../../src/testing/error-details-check.ts
var adapterReason = reasonCheck(adapterErrorReasons);
var streamReason = reasonCheck(streamErrorReasons);
var errorDetails = (value) => {
  let issues = jsonObject(value);
  if (issues.length > 0 || !isPlainObject(value)) return issues;
  for (const [key, member2] of Object.entries(value)) {
    const check3 = detailChecks[key];
    if (check3 !== void 0) issues = join(issues, within(key, check3(member2)));
    else if (isMisspelt(key)) issues = join(issues, [{ path: "", problem: misspelt(key) }]);
  }
  return issues;
};
var milliseconds = must(
  "a number of milliseconds",
  (value) => typeof value === "number" && value >= 0
);
var detailChecks = {
  message: text,
  status: count,
  retryAfterMs: milliseconds,
  retryable: flag,
  provider: text,
  requestId: text,
  eventIndex: must("a number of events", (value) => typeof value === "number" && value >= 0),
  metadata: jsonObject,
  cause: json
};
var detailFields = Object.keys(detailChecks);
function isMisspelt(key) {
  const spelling = key.toLowerCase().replaceAll(/[_-]/g, "");
  return detailFields.some((field) => field.toLowerCase() === spelling);
}
function misspelt(key) {
  return `has no field ${key}; did you mean ${nearest(key, detailFields) ?? "another"}?`;
}
function reasonCheck(reasons2) {
  return (value) => {
    if (reasons2.some((reason) => reason === value)) return fine;
    const meant = typeof value === "string" ? nearest(value, reasons2) : void 0;
    const advice2 = meant === void 0 ? "" : `; did you mean ${meant}?`;
    const problem = `must be one of ${reasons2.join(", ")}, not ${JSON.stringify(value)}${advice2}`;
    return [{ path: "", problem }];
  };
}

// ../../src/testing/usage-check.ts
var usageCheck = (value) => {
  if (!isPlainObject(value)) return refuse("an object of token counts", value);
  let issues = fine;
  for (const [key, member2] of Object.entries(value)) {
    if (key === "extra") issues = join(issues, within(key, jsonObject(member2)));
    else if (isField(key)) issues = join(issues, within(key, tokens(member2)));
    else issues = join(issues, unknownField(key));
  }
  return issues;
};
var tokens = must(
  "a number of tokens",
  (value) => typeof value === "number" && Number.isFinite(value) && value >= 0
);
function isField(key) {
  return usageFields.some((field) => field === key);
}
function unknownField(key) {
  const meant = providerNames.get(key) ?? nearest(key, [...usageFields, "extra"]);
  const legal = `legal are ${[...usageFields, "extra"].join(", ")}`;
  const advice2 = meant === void 0 ? legal : `did you mean ${meant}? ${legal}`;
  return [{ path: "", problem: `has no field ${key}; ${advice2}` }];
}
var providerNames = /* @__PURE__ */ new Map([
  ["prompt_tokens", "inputTokens"],
  ["promptTokens", "inputTokens"],
  ["promptTokenCount", "inputTokens"],
  ["completion_tokens", "outputTokens"],
  ["completionTokens", "outputTokens"],
  ["candidatesTokenCount", "outputTokens"],
  ["cache_read_input_tokens", "cachedInputTokens"],
  ["cache_creation_input_tokens", "cacheWriteInputTokens"],
  ["thoughtsTokenCount", "reasoningTokens"]
]);

// ../../src/testing/response-check.ts
var responseCheck = shape(
  {},
  {
    requestId: someText,
    id: text,
    model: text,
    provider: text,
    message: validateMessage,
    outputText: text,
    toolCalls: listOf(toolCall),
    finishReason: oneOf(finishReasons),
    rawFinishReason: text,
    usage: usageCheck,
    error: jsonObject,
    metadata: jsonObject
  }
);

// ../../src/testing/vocabulary.ts
var specTags = [
  "text",
  "reasoning",
  "tool_call",
  "tool_call_delta",
  "usage",
  "raw_chunk",
  "finish",
  "error",
  "delay",
  "sleep"
];
var harnessTags = [
  "ok",
  "error",
  "text_delta",
  "preflight_error",
  "error_event",
  "stream_error",
  "tool_call",
  "finish"
];
function vocabularyOf(entry) {
  const tag2 = entry[0];
  if (tag2 === "error") return entry.length > 2 ? "harness" : "spec31";
  const spec2 = specTags.some((known2) => known2 === tag2);
  const harness = harnessTags.some((known2) => known2 === tag2);
  if (spec2 && harness) return "shared";
  if (spec2) return "spec31";
  return harness ? "harness" : void 0;
}
function unknownTag(tag2) {
  const shown2 = typeof tag2 === "string" ? JSON.stringify(tag2) : `of type ${typeof tag2}`;
  const words2 = `${specTags.join(", ")} (error with two elements)`;
  const harness = `${harnessTags.join(", ")} (error with three elements)`;
  return `has the unknown tag ${shown2}; scripts say ${words2}; harness scripts say ${harness}`;
}

// ../../src/testing/check-entry.ts
function checkEntry(entry) {
  if (!Array.isArray(entry) || typeof entry[0] !== "string") return notAnEntry(entry);
  const items = entry;
  const check3 = vocabularyOf(items) === void 0 ? void 0 : checkOf(items);
  return check3?.(items) ?? [{ path: "", problem: unknownTag(items[0]) }];
}
function notAnEntry(entry) {
  if (Array.isArray(entry) && Array.isArray(entry[0])) {
    return [
      {
        path: "",
        problem: "is a list of entries, not an entry; a list for each call goes into scripts"
      }
    ];
  }
  return [{ path: "", problem: 'must be an entry, such as ["text", "hello"]' }];
}
function checkOf(items) {
  if (items[0] === "error") return items.length > 2 ? failure(adapterReason) : term;
  return checks[items[0]];
}
var milliseconds2 = must(
  "a number of milliseconds, 0 or more",
  (value) => typeof value === "number" && Number.isFinite(value) && value >= 0
);
var toolCall3 = shape(
  { id: someText, name: someText },
  { arguments: jsonObject, rawArguments: text, opaque: json }
);
var toolCallDelta = shape({ id: someText, argumentsDelta: text }, { name: someText });
var term = tuple([must("a reason or any other value", (value) => value !== void 0)]);
var checks = {
  text: tuple([text]),
  reasoning: tuple([text], [shape({}, { opaque: json })]),
  tool_call: tuple([toolCall3]),
  tool_call_delta: tuple([toolCallDelta]),
  usage: tuple([usageCheck]),
  raw_chunk: tuple([json]),
  finish: tuple([oneOf(finishReasons)]),
  delay: tuple([milliseconds2]),
  sleep: tuple([milliseconds2]),
  ok: tuple([responseCheck]),
  text_delta: tuple([text]),
  preflight_error: failure(adapterReason),
  error_event: failure(adapterReason),
  stream_error: failure(streamReason)
};
function failure(reason) {
  return tuple([reason, errorDetails]);
}
function tuple(required2, optional2 = []) {
  const all = [...required2, ...optional2];
  const least = required2.length + 1;
  const most = all.length + 1;
  return (value) => {
    const items = value;
    if (items.length < least || items.length > most) {
      const wanted = least === most ? `${most}` : `${least} or ${most}`;
      return [{ path: "", problem: `must have ${wanted} elements, not ${items.length}` }];
    }
    let issues = fine;
    for (let index = 1; index < items.length; index++) {
      issues = join(issues, within(index, all[index - 1]?.(items[index]) ?? fine));
    }
    return issues;
  };
}

// ../../src/testing/check-script.ts
function checkScript(script) {
  let issues = fine;
  for (let index = 0; index < script.length; index++) {
    issues = join(issues, within(index, checkEntry(script[index])));
  }
  if (issues.length > 0) return issues;
  const entries = script;
  const mixed = mixedVocabularies(entries);
  return mixed.length > 0 ? mixed : join(checkEnds(entries), checkCalls(entries));
}
function mixedVocabularies(entries) {
  let first2;
  for (const [index, entry] of entries.entries()) {
    const vocabulary = vocabularyOf(entry);
    if (vocabulary === "shared") continue;
    first2 ??= entry;
    if (vocabulary === vocabularyOf(first2)) continue;
    const problem = `mixes two vocabularies: ${named2(entry)} can not stand in a script with ${named2(first2)}`;
    return within(index, [{ path: "", problem }]);
  }
  return fine;
}
function named2(entry) {
  const of = vocabularyOf(entry) === "harness" ? "of harness scripts" : "of scripts";
  return `${String(entry[0])} (${of})`;
}
function checkEnds(entries) {
  for (const [index, [tag2]] of entries.entries()) {
    if (tag2 === "finish" && index < entries.length - 1) {
      return within(index + 1, [{ path: "", problem: "comes after finish, which ends the call" }]);
    }
    if (tag2 === "ok" && entries.length > 1) {
      const problem = "is a whole call and stands alone; a list for each call goes into scripts";
      return within(index, [{ path: "", problem }]);
    }
    if (tag2 === "preflight_error" && index > 0) {
      const problem = "happens before the first event, so it comes first; later failures are error_event";
      return within(index, [{ path: "", problem }]);
    }
  }
  return fine;
}
function checkCalls(entries) {
  const completed = /* @__PURE__ */ new Set();
  let issues = fine;
  for (const [index, [tag2, call]] of entries.entries()) {
    if (tag2 !== "tool_call" && tag2 !== "tool_call_delta" || !isPlainObject(call)) continue;
    const { id } = call;
    if (completed.has(id)) {
      const problem = `comes after the call ${String(id)} was completed; ids are unique within one call`;
      issues = join(issues, within(index, [{ path: "", problem }]));
    }
    if (tag2 === "tool_call") completed.add(id);
  }
  return issues;
}

// ../../src/testing/memoised.ts
function memoised(work) {
  const known2 = /* @__PURE__ */ new Map();
  return (key) => {
    const found = known2.get(key);
    if (found !== void 0) return found;
    const value = work(key);
    known2.set(key, value);
    return value;
  };
}

// ../../src/testing/script-cursor.ts
var cursorBrand = /* @__PURE__ */ Symbol.for("allm-ts.script-cursor");
function createScriptCursor() {
  let index = 0;
  let stayed = 0;
  return {
    [cursorBrand]: true,
    get index() {
      return index;
    },
    advance() {
      index++;
      stayed = 0;
    },
    stay() {
      return ++stayed;
    }
  };
}
function isScriptCursor(value) {
  return typeof value === "object" && value !== null && cursorBrand in value;
}

// ../../src/testing/validate-script.ts
function validateScript(options) {
  const { script, scripts, streamScript, scriptCursor } = options;
  if (script !== void 0 && scripts !== void 0) {
    refuse2("", "script and scripts are both given; script is one call, scripts is one list a call");
  }
  if (script !== void 0 && !Array.isArray(script)) {
    refuse2("script", `must be a list of entries, not ${describe(script)}`);
  }
  if (scripts !== void 0) listOfLists("scripts", scripts);
  if (streamScript !== void 0 && !isFlat(streamScript)) listOfLists("streamScript", streamScript);
  if (scriptCursor !== void 0 && !isScriptCursor(scriptCursor)) {
    refuse2("scriptCursor", `must be made by createScriptCursor(), and is ${describe(scriptCursor)}`);
  }
  const check3 = memoised(checkScript);
  let issues = fine;
  for (const [path, list] of namedScripts(options)) issues = join(issues, at(path, check3(list)));
  assertValid("invalid_script", issues);
}
function isFlat(list) {
  return Array.isArray(list) && list.every((entry) => Array.isArray(entry) && isEntry(entry));
}
function isEntry(entry) {
  return typeof entry[0] === "string";
}
function listOfLists(path, value) {
  if (!Array.isArray(value)) refuse2(path, `must be a list of lists, not ${describe(value)}`);
  for (const [index, list] of value.entries()) {
    const place = `${path}[${index}]`;
    if (!Array.isArray(list)) refuse2(place, `must be a list of entries, not ${describe(list)}`);
    if (isEntry(list)) {
      refuse2(place, "is an entry, not a list of entries; one call alone goes into script");
    }
  }
}
function refuse2(path, problem) {
  throw new ValidationError("invalid_script", [{ path, problem }]);
}
function namedScripts(options) {
  const { script, scripts = [], streamScript } = options;
  const calls = script === void 0 ? [] : [["script", script]];
  scripts.forEach((list, index) => calls.push([`scripts[${index}]`, list]));
  if (streamScript === void 0) return calls;
  if (isFlat(streamScript)) return [...calls, ["streamScript", streamScript]];
  streamScript.forEach((list, index) => calls.push([`streamScript[${index}]`, list]));
  return calls;
}
function at(place, issues) {
  return issues.map(({ path, problem }) => ({ path: place + path, problem }));
}

// ../../src/wire/plan-builder.ts
function addText2(draft, text4) {
  draft.openText ??= open(draft, { type: "text", text: "" });
  append(draft, draft.openText, text4);
}
function addReasoning3(draft, text4, opaque) {
  closeText(draft);
  const block2 = defined({ type: "reasoning", text: "", opaque });
  const index = open(draft, block2);
  if (text4 !== "") append(draft, index, text4);
  draft.steps.push({ type: "close", block: index });
}
function addToolCall(draft, call) {
  const index = toolBlock(draft, call.id, call);
  const sent = draft.blocks[index]?.text ?? "";
  const rest = sent === "" ? "{}" : sent;
  const text4 = call.rawArguments ?? (call.arguments === void 0 ? rest : JSON.stringify(call.arguments));
  if (text4.startsWith(sent) && text4 !== sent) append(draft, index, text4.slice(sent.length));
  draft.steps.push({ type: "close", block: index });
  draft.openTools.delete(call.id);
}
function addToolCallDelta(draft, delta) {
  append(draft, toolBlock(draft, delta.id, delta), delta.argumentsDelta);
}
function addImage4(draft, image2) {
  closeText(draft);
  const index = open(draft, { type: "image", text: "", image: image2 });
  draft.steps.push({ type: "close", block: index });
}
function closeText(draft) {
  if (draft.openText !== void 0) draft.steps.push({ type: "close", block: draft.openText });
  draft.openText = void 0;
}
function closeAll(draft) {
  closeText(draft);
  for (const [id, block2] of draft.openTools) {
    nameTool(draft, block2, { name: id });
    draft.steps.push({ type: "close", block: block2 });
  }
  draft.openTools.clear();
}
function open(draft, block2) {
  const index = draft.blocks.push(block2) - 1;
  draft.steps.push({ type: "open", block: index });
  return index;
}
function append(draft, index, text4) {
  const block2 = draft.blocks[index];
  if (block2 === void 0 || block2.type === "image") return;
  draft.blocks[index] = { ...block2, text: block2.text + text4 };
  draft.steps.push({ type: "delta", block: index, text: text4 });
}
function toolBlock(draft, id, facts2) {
  let index = draft.openTools.get(id);
  if (index === void 0) {
    closeText(draft);
    index = open(draft, { type: "tool_call", id, name: "", text: "" });
    draft.openTools.set(id, index);
  }
  nameTool(draft, index, facts2);
  return index;
}
function nameTool(draft, index, facts2) {
  const block2 = draft.blocks[index];
  if (block2?.type !== "tool_call") return;
  const name2 = block2.name === "" ? facts2.name ?? "" : block2.name;
  const opaque = facts2.opaque ?? block2.opaque;
  draft.blocks[index] = defined({ ...block2, name: name2, opaque });
}

// ../../src/wire/plan-draft.ts
function newPlanDraft() {
  return { blocks: [], steps: [], openTools: /* @__PURE__ */ new Map(), openText: void 0 };
}

// ../../src/wire/plan-failure.ts
function failureOf3(reason, facts2) {
  const { message: message3, status: status2, retryAfterMs: retryAfterMs2, requestId } = facts2;
  return defined({
    reason: adapterErrorReasons.find((known2) => known2 === reason) ?? "unknown",
    message: typeof message3 === "string" ? message3 : void 0,
    status: typeof status2 === "number" ? status2 : void 0,
    retryAfterMs: typeof retryAfterMs2 === "number" ? retryAfterMs2 : void 0,
    requestId: typeof requestId === "string" ? requestId : void 0
  });
}
function failureOfTerm(term2) {
  const reason = adapterErrorReasons.find((known2) => known2 === term2);
  return { reason: reason ?? "unknown" };
}
var breaks = {
  timeout: "stall",
  network_error: "cut",
  malformed_response: "malformed"
};
function failedEnd(failure2) {
  const how = breaks[failure2.reason];
  return how === void 0 ? { type: "failed", failure: failure2 } : { type: "broken", how };
}
function brokenEnd(reason) {
  if (reason === "malformed_event") return { type: "broken", how: "malformed" };
  return { type: "broken", how: reason === "timeout" ? "stall" : "cut" };
}

// ../../src/wire/plan-script.ts
function planScript(script) {
  const draft = newPlanDraft();
  const facts2 = {
    draft,
    usage: void 0,
    id: void 0,
    model: void 0,
    end: void 0
  };
  for (const entry of script) {
    apply(entry, facts2);
    if (facts2.end !== void 0) break;
  }
  const { blocks, steps } = draft;
  const calls = blocks.some((block2) => block2.type === "tool_call");
  const end2 = facts2.end ?? finished(draft, calls ? "tool_calls" : "stop");
  const { usage: usage2, id, model } = facts2;
  return defined({ blocks, steps, end: end2, usage: usage2, id, model });
}
function apply(entry, facts2) {
  const { draft } = facts2;
  switch (entry[0]) {
    case "text":
    case "text_delta":
      return addText2(draft, entry[1]);
    case "reasoning":
      return addReasoning3(draft, entry[1], entry[2]?.opaque);
    case "tool_call":
      return addToolCall(draft, entry[1]);
    case "tool_call_delta":
      return addToolCallDelta(draft, entry[1]);
    case "raw_chunk":
      draft.steps.push({ type: "raw", chunk: entry[1] });
      return;
    case "delay":
    case "sleep":
      draft.steps.push({ type: "wait", ms: entry[1] });
      return;
    case "usage":
      facts2.usage = entry[1];
      return;
    case "ok":
      return applyResponse(entry[1], facts2);
    case "finish":
    case "error":
    case "preflight_error":
    case "error_event":
    case "stream_error":
      facts2.end = endOf(entry, draft);
      return;
    default:
      return assertNever(entry);
  }
}
function applyResponse(response2, facts2) {
  const { draft } = facts2;
  const content2 = response2.message?.content ?? response2.outputText ?? "";
  const parts2 = typeof content2 === "string" ? [{ type: "text", text: content2 }] : content2;
  for (const part2 of parts2) {
    if (part2.type === "image") addImage4(draft, part2.image);
    else if (part2.type === "reasoning") addReasoning3(draft, part2.text, part2.opaque);
    else if (part2.text !== "") addText2(draft, part2.text);
    closeText(draft);
  }
  const calls = response2.toolCalls ?? response2.message?.toolCalls ?? [];
  for (const call of calls) addToolCall(draft, call);
  facts2.usage = response2.usage;
  facts2.id = response2.id;
  facts2.model = response2.model;
  const { error } = response2;
  if (error !== void 0) {
    facts2.end = error.kind === "stream" ? brokenEnd(error.reason) : failedEnd(failureOf3(error.reason, { ...error }));
    return;
  }
  const reason = response2.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop");
  facts2.end = finished(draft, reason);
}
function endOf(entry, draft) {
  const nothingSaid = draft.steps.every((step) => step.type === "wait");
  switch (entry[0]) {
    case "finish":
      return finished(draft, entry[1]);
    case "error":
      if (entry.length === 2) return failedEnd(failureOfTerm(entry[1]));
      return refusedOrFailed(nothingSaid, failureOf3(entry[1], entry[2]));
    case "preflight_error":
      return refusedOrFailed(nothingSaid, failureOf3(entry[1], entry[2]));
    case "error_event":
      return failedEnd(failureOf3(entry[1], entry[2]));
    case "stream_error":
      return brokenEnd(entry[1]);
    default:
      return assertNever(entry);
  }
}
function finished(draft, reason) {
  closeAll(draft);
  return { type: "finished", reason };
}
function refusedOrFailed(nothingSaid, failure2) {
  return nothingSaid ? { type: "refused", failure: failure2 } : failedEnd(failure2);
}

// ../../src/wire/frame-writer.ts
var encoder = new TextEncoder();
function frameWriter() {
  const frames = [];
  let pending = 0;
  const text4 = (content2) => {
    const bytes = encoder.encode(content2);
    frames.push(pending > 0 ? { bytes, delayMs: pending } : { bytes });
    pending = 0;
  };
  return {
    frames,
    text: text4,
    event(data, name2) {
      const payload = `data: ${JSON.stringify(data)}

`;
      text4(name2 === void 0 ? payload : `event: ${name2}
${payload}`);
    },
    wait(ms) {
      pending += ms;
    },
    end() {
    }
  };
}
function jsonArrayWriter() {
  const inner = frameWriter();
  let lead = "[";
  return {
    ...inner,
    event(data) {
      inner.text(lead + JSON.stringify(data));
      lead = ",\r\n";
    },
    end: () => inner.text(lead === "[" ? "[]" : "]")
  };
}

// ../../src/wire/failure-words.ts
var openaiFailures = {
  authentication_failed: {
    status: 401,
    word: "invalid_api_key",
    message: "Incorrect API key provided."
  },
  rate_limited: { status: 429, word: "rate_limit_exceeded", message: "Rate limit reached." },
  invalid_request: { status: 400, word: null, message: "The request is invalid." },
  content_filter: {
    status: 400,
    word: "content_filter",
    message: "The content was blocked by the content management policy."
  },
  context_length_exceeded: {
    status: 400,
    word: "context_length_exceeded",
    message: "Your input exceeds the context window of this model."
  },
  provider_unavailable: {
    status: 503,
    word: "server_error",
    message: "The server had an error while processing the request."
  },
  timeout: { status: 504, word: "server_error", message: "The request timed out." },
  network_error: { status: 502, word: "server_error", message: "Bad gateway." },
  malformed_response: { status: 200, word: null, message: "An answer that can not be read." },
  unsupported_feature: {
    status: 400,
    word: "unsupported_parameter",
    message: "Unsupported parameter."
  },
  no_scripted_response: {
    status: 501,
    word: "no_scripted_response",
    message: "no scripted response"
  },
  unknown: { status: 418, word: "unknown_error", message: "scripted error" }
};
var anthropicFailures = {
  authentication_failed: {
    status: 401,
    word: "authentication_error",
    message: "invalid x-api-key"
  },
  rate_limited: {
    status: 429,
    word: "rate_limit_error",
    message: "This request would exceed the rate limit."
  },
  invalid_request: {
    status: 400,
    word: "invalid_request_error",
    message: "The request is invalid."
  },
  content_filter: {
    status: 400,
    word: "invalid_request_error",
    message: "Output blocked by content filtering policy",
    toldByMessage: true
  },
  context_length_exceeded: {
    status: 400,
    word: "invalid_request_error",
    message: "prompt is too long: 200001 tokens > 200000 maximum",
    toldByMessage: true
  },
  provider_unavailable: { status: 529, word: "overloaded_error", message: "Overloaded" },
  timeout: { status: 504, word: "timeout_error", message: "The request timed out." },
  network_error: { status: 502, word: "api_error", message: "Bad gateway." },
  malformed_response: {
    status: 200,
    word: "api_error",
    message: "An answer that can not be read."
  },
  unsupported_feature: {
    status: 400,
    word: "invalid_request_error",
    message: "The feature is not supported."
  },
  no_scripted_response: { status: 501, word: "api_error", message: "no scripted response" },
  unknown: { status: 418, word: "unknown_error", message: "scripted error" }
};
var geminiFailures = {
  authentication_failed: {
    status: 400,
    word: "INVALID_ARGUMENT",
    message: "API key not valid. Please pass a valid API key."
  },
  rate_limited: { status: 429, word: "RESOURCE_EXHAUSTED", message: "The quota is exceeded." },
  invalid_request: { status: 400, word: "INVALID_ARGUMENT", message: "The request is invalid." },
  content_filter: {
    status: 400,
    word: "INVALID_ARGUMENT",
    message: "The prompt could not be used: it violates Google's Responsible AI practices.",
    toldByMessage: true
  },
  context_length_exceeded: {
    status: 400,
    word: "INVALID_ARGUMENT",
    message: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    toldByMessage: true
  },
  provider_unavailable: {
    status: 503,
    word: "UNAVAILABLE",
    message: "The model is overloaded. Please try again later."
  },
  timeout: { status: 504, word: "DEADLINE_EXCEEDED", message: "The deadline was exceeded." },
  network_error: { status: 502, word: "UNAVAILABLE", message: "Bad gateway." },
  malformed_response: {
    status: 200,
    word: "INTERNAL",
    message: "An answer that can not be read."
  },
  unsupported_feature: {
    status: 400,
    word: "INVALID_ARGUMENT",
    message: "The feature is not supported."
  },
  no_scripted_response: { status: 501, word: "UNIMPLEMENTED", message: "no scripted response" },
  unknown: { status: 418, word: "UNKNOWN", message: "scripted error" }
};

// ../../src/wire/render-failure.ts
function renderFailure(format, failure2, requestId) {
  const words2 = wordsOf2(format, failure2);
  const headers = failureHeaders(format, failure2);
  switch (format) {
    case "openai_chat":
    case "openai_responses":
      return { status: words2.status, headers, body: { error: openaiError(words2) } };
    case "anthropic":
      return {
        status: words2.status,
        headers,
        body: { type: "error", error: anthropicError(words2), request_id: requestId }
      };
    case "gemini":
      return { status: words2.status, headers, body: { error: geminiError(words2, failure2) } };
    default:
      return assertNever(format);
  }
}
function wordsOf2(format, failure2) {
  const { reason, message: message3, status: status2 } = failure2;
  const table4 = format === "anthropic" ? anthropicFailures : format === "gemini" ? geminiFailures : openaiFailures;
  const usual = table4[reason];
  const unusual = status2 !== void 0 && status2 !== usual.status;
  return {
    status: status2 ?? usual.status,
    // A status that the script chose brings its own word, where the word follows from the status.
    word: unusual ? wordOfStatus(format, status2, usual.word) : usual.word,
    message: said2(usual, message3) + waitHint(format, failure2)
  };
}
function said2(usual, message3) {
  if (message3 === void 0) return usual.message;
  return usual.toldByMessage === true ? `${usual.message} (${message3})` : message3;
}
function waitHint(format, { reason, retryAfterMs: retryAfterMs2 }) {
  if (format === "anthropic" || format === "gemini") return "";
  if (reason !== "rate_limited" || retryAfterMs2 === void 0) return "";
  return ` Please try again in ${retryAfterMs2 / 1e3}s.`;
}
function openaiError({ status: status2, word, message: message3 }) {
  return { message: message3, type: openaiType(status2, word), param: null, code: word };
}
function openaiType(status2, word) {
  if (status2 === 429) return word === "insufficient_quota" ? word : "requests";
  if (status2 >= 500) return "server_error";
  return word === "unknown_error" ? word : "invalid_request_error";
}
function anthropicError({ word, message: message3 }) {
  return { type: word, message: message3 };
}
function geminiError(words2, failure2) {
  const details = [];
  if (failure2.reason === "authentication_failed" && words2.status === 400) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "API_KEY_INVALID",
      domain: "googleapis.com",
      metadata: { service: "generativelanguage.googleapis.com" }
    });
  }
  if (failure2.retryAfterMs !== void 0) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.RetryInfo",
      retryDelay: `${failure2.retryAfterMs / 1e3}s`
    });
  }
  const error = { code: words2.status, message: words2.message, status: words2.word };
  return details.length === 0 ? error : { ...error, details };
}
var googleWords = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED"
};
var anthropicWords = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  503: "api_error",
  504: "timeout_error",
  529: "overloaded_error"
};
function wordOfStatus(format, status2, usual) {
  if (format === "gemini") return googleWords[status2] ?? (status2 >= 500 ? "INTERNAL" : "UNKNOWN");
  return format === "anthropic" ? anthropicWords[status2] ?? usual : usual;
}
function failureHeaders(format, failure2) {
  const headers = {};
  const { retryAfterMs: retryAfterMs2, reason } = failure2;
  if (retryAfterMs2 !== void 0 && format !== "gemini") {
    headers["retry-after"] = String(Math.ceil(retryAfterMs2 / 1e3));
    if (format !== "anthropic" || retryAfterMs2 % 1e3 !== 0) {
      headers["retry-after-ms"] = String(retryAfterMs2);
    }
  }
  if (reason === "no_scripted_response") headers["x-should-retry"] = "false";
  return headers;
}

// ../../src/wire/json-object.ts
function isJsonObject2(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function parseJsonObject(text4) {
  try {
    const value = JSON.parse(text4);
    return isJsonObject2(value) ? value : {};
  } catch {
    return {};
  }
}
function asString(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

// ../../src/wire/anthropic-blocks.ts
function contentBlock(block2) {
  switch (block2.type) {
    case "text":
      return { type: "text", text: block2.text };
    case "reasoning":
      return reasoningBlock(block2.text, block2.opaque);
    case "tool_call":
      return {
        type: "tool_use",
        id: block2.id,
        name: block2.name,
        // A body holds decoded arguments; text that is not a JSON object can not stand there.
        input: parseJsonObject(block2.text)
      };
    case "image":
      return { type: "text", text: "" };
    default:
      return assertNever(block2);
  }
}
function startedBlock(block2) {
  const whole2 = contentBlock(block2);
  return { ...whole2, ...emptyMembers[typeOf2(whole2)] };
}
var emptyMembers = {
  text: { text: "" },
  thinking: { thinking: "", signature: "" },
  tool_use: { input: {} }
};
function textDelta(block2, text4) {
  return deltas[typeOf2(contentBlock(block2))]?.(text4);
}
var deltas = {
  text: (text4) => ({ type: "text_delta", text: text4 }),
  thinking: (thinking) => ({ type: "thinking_delta", thinking }),
  tool_use: (partial_json) => ({ type: "input_json_delta", partial_json })
};
function typeOf2({ type }) {
  return typeof type === "string" ? type : "";
}
function signatureOf(block2) {
  const { type, signature } = contentBlock(block2);
  return type === "thinking" && typeof signature === "string" && signature !== "" ? signature : void 0;
}
function reasoningBlock(text4, opaque) {
  if (isJsonObject2(opaque)) {
    const { signature: signature2, redacted, block: block2 } = opaque;
    if (typeof signature2 === "string") return { type: "thinking", thinking: text4, signature: signature2 };
    if (text4 === "" && typeof redacted === "string")
      return { type: "redacted_thinking", data: redacted };
    if (text4 === "" && isJsonObject2(block2)) return block2;
  }
  const signature = opaque === void 0 ? "" : asString(opaque);
  return { type: "thinking", thinking: text4, signature };
}

// ../../src/wire/anthropic-usage.ts
function messageUsage(usage2) {
  const read2 = usage2.cachedInputTokens ?? 0;
  const written = usage2.cacheWriteInputTokens ?? 0;
  const { inputTokens, outputTokens, reasoningTokens, extra } = usage2;
  return {
    input_tokens: Math.max(0, (inputTokens ?? 0) - read2 - written),
    cache_creation_input_tokens: usage2.cacheWriteInputTokens ?? null,
    cache_read_input_tokens: usage2.cachedInputTokens ?? null,
    output_tokens: outputTokens ?? 0,
    ...reasoningTokens === void 0 ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } },
    ...extra
  };
}
function startUsage(usage2) {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens } = usage2;
  const known2 = defined({ inputTokens, cachedInputTokens, cacheWriteInputTokens });
  return messageUsage({ ...known2, outputTokens: 0 });
}

// ../../src/wire/anthropic.ts
var anthropicStopWords = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
  error: "error",
  other: "pause_turn"
};
var anthropic2 = {
  defaultModel: "claude-sonnet-4-5-20250929",
  namedEvents: true,
  headers: (requestId) => ({ "request-id": requestId }),
  body: (plan, context) => ({
    ...messageHead(context),
    content: plan.blocks.map(contentBlock),
    ...stop(plan),
    usage: messageUsage(plan.usage ?? {})
  }),
  stream(plan, context, writer) {
    const say2 = (type, members2 = {}) => writer.event({ type, ...members2 }, type);
    const delta = (index, members2) => say2("content_block_delta", { index, delta: members2 });
    let pinged = false;
    say2("message_start", {
      message: {
        ...messageHead(context),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: startUsage(plan.usage ?? {})
      }
    });
    return {
      begin() {
      },
      open(index) {
        const block2 = plan.blocks[index];
        if (block2 !== void 0)
          say2("content_block_start", { index, content_block: startedBlock(block2) });
        if (!pinged) say2("ping");
        pinged = true;
      },
      delta(index, text4) {
        const block2 = plan.blocks[index];
        const members2 = block2 === void 0 ? void 0 : textDelta(block2, text4);
        if (members2 !== void 0) delta(index, members2);
      },
      close(index) {
        const block2 = plan.blocks[index];
        const signature = block2 === void 0 ? void 0 : signatureOf(block2);
        if (signature !== void 0) delta(index, { type: "signature_delta", signature });
        say2("content_block_stop", { index });
      },
      finish() {
        say2("message_delta", { delta: stop(plan), usage: messageUsage(plan.usage ?? {}) });
        say2("message_stop");
      },
      fail(failure2) {
        const { word, message: message3 } = wordsOf2("anthropic", failure2);
        writer.event({ type: "error", error: { details: null, type: word, message: message3 } }, "error");
      }
    };
  }
};
function messageHead({ id, model }) {
  return { model, id: `msg_${id}`, type: "message", role: "assistant" };
}
function stop(plan) {
  const reason = plan.end.type === "finished" ? plan.end.reason : "stop";
  return { stop_reason: anthropicStopWords[reason], stop_sequence: null };
}

// ../../src/wire/gemini-parts.ts
function wholePart2(blocks, index) {
  const block2 = blocks[index];
  if (block2 === void 0) return void 0;
  switch (block2.type) {
    case "text":
      return { text: block2.text, ...signatureFromNext(blocks, index) };
    case "reasoning":
      return thoughtPart(block2.text, block2.opaque);
    case "tool_call":
      return {
        functionCall: { name: block2.name, args: parseJsonObject(block2.text), id: block2.id },
        ...callSignature(block2.opaque)
      };
    case "image":
      return { ...imagePart(block2), ...signatureFromNext(blocks, index) };
    default:
      return assertNever(block2);
  }
}
function signatureFromNext(blocks, index) {
  const next2 = blocks[index + 1];
  const signature = next2?.type === "reasoning" ? previousSignature(next2.text, next2.opaque) : void 0;
  return signature === void 0 ? {} : { thoughtSignature: signature };
}
function previousSignature(text4, opaque) {
  if (text4 !== "" || !isJsonObject2(opaque) || opaque["on"] !== "previous") return void 0;
  const { thoughtSignature } = opaque;
  return typeof thoughtSignature === "string" ? thoughtSignature : void 0;
}
function thoughtPart(text4, opaque) {
  if (previousSignature(text4, opaque) !== void 0) return void 0;
  if (text4 === "" && isJsonObject2(opaque) && isJsonObject2(opaque["part"])) return opaque["part"];
  const signature = opaque === void 0 ? {} : { thoughtSignature: asString(opaque) };
  return { text: text4, thought: true, ...signature };
}
function callSignature(opaque) {
  if (opaque === void 0) return {};
  const signature = isJsonObject2(opaque) ? opaque["thoughtSignature"] : opaque;
  return { thoughtSignature: asString(signature ?? opaque) };
}
function imagePart({ image: image2 }) {
  if (image2.type === "base64")
    return { inlineData: { mimeType: image2.mimeType, data: image2.base64 } };
  const { mimeType = "image/png" } = image2;
  return { fileData: { mimeType, fileUri: image2.type === "url" ? image2.url : image2.path } };
}

// ../../src/wire/gemini-usage.ts
function usageMetadata(usage2) {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, extra } = usage2;
  const total2 = usage2.totalTokens ?? sum(inputTokens, allOutput(usage2));
  return {
    ...inputTokens === void 0 ? {} : { promptTokenCount: inputTokens },
    ...outputTokens === void 0 ? {} : { candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)) },
    ...total2 === void 0 ? {} : { totalTokenCount: total2 },
    ...cachedInputTokens === void 0 ? {} : { cachedContentTokenCount: cachedInputTokens },
    ...reasoningTokens === void 0 ? {} : { thoughtsTokenCount: reasoningTokens },
    ...extra
  };
}
function allOutput({ outputTokens, reasoningTokens }) {
  if (outputTokens === void 0) return reasoningTokens;
  return Math.max(outputTokens, reasoningTokens ?? 0);
}
function sum(left, right) {
  return left === void 0 || right === void 0 ? void 0 : left + right;
}

// ../../src/wire/gemini.ts
var geminiFinishWords = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
  error: "MALFORMED_FUNCTION_CALL",
  other: "OTHER"
};
var gemini2 = {
  defaultModel: "gemini-2.5-flash",
  namedEvents: false,
  headers: () => ({}),
  body: (plan, context) => ({
    candidates: [
      candidate(
        plan.blocks.flatMap((_, index) => wholePart2(plan.blocks, index) ?? []),
        finishWord(plan)
      )
    ],
    ...usage(plan),
    ...chunkTail(context)
  }),
  stream(plan, context, writer) {
    let begun = false;
    const say2 = (part2, finish3) => {
      begun = true;
      writer.event({
        candidates: [candidate([part2], finish3)],
        ...finish3 === void 0 ? {} : usage(plan),
        ...chunkTail(context)
      });
    };
    const tell = (index) => {
      const part2 = wholePart2(plan.blocks, index);
      if (part2 !== void 0) say2(part2);
    };
    const calls = callQueue(tell);
    const begin3 = () => {
      calls.flush();
      if (!begun) say2({ text: "" });
    };
    const sent = /* @__PURE__ */ new Map();
    return {
      begin: begin3,
      open(index) {
        if (plan.blocks[index]?.type === "tool_call") calls.open(index);
      },
      delta(index, text4) {
        const block2 = plan.blocks[index];
        if (block2?.type !== "text") return;
        const sofar = (sent.get(index) ?? "") + text4;
        sent.set(index, sofar);
        const last = sofar === block2.text;
        say2({ text: text4, ...last ? signatureFromNext(plan.blocks, index) : {} });
      },
      close(index) {
        const type = plan.blocks[index]?.type;
        if (type === "tool_call") calls.close(index);
        else if (type !== "text") tell(index);
      },
      finish: () => say2({ text: "" }, finishWord(plan)),
      fail(failure2) {
        begin3();
        writer.event(renderFailure("gemini", failure2, context.requestId).body);
      }
    };
  }
};
function callQueue(tell) {
  let waiting = [];
  const flush = () => {
    for (const { index, complete: complete3 } of waiting) if (complete3) tell(index);
    waiting = waiting.filter(({ complete: complete3 }) => !complete3);
  };
  return {
    open: (index) => void waiting.push({ index, complete: false }),
    close(index) {
      for (const call of waiting) if (call.index === index) call.complete = true;
      while (waiting[0]?.complete === true) tell(waiting.shift()?.index ?? index);
    },
    flush
  };
}
function candidate(parts2, finish3) {
  return {
    content: { parts: parts2, role: "model" },
    ...finish3 === void 0 ? {} : { finishReason: finish3 },
    index: 0
  };
}
function chunkTail({ id, model }) {
  return { modelVersion: model, responseId: id };
}
function usage(plan) {
  return plan.usage === void 0 ? {} : { usageMetadata: usageMetadata(plan.usage) };
}
function finishWord(plan) {
  return geminiFinishWords[plan.end.type === "finished" ? plan.end.reason : "stop"];
}

// ../../src/wire/openai-chat-reasoning.ts
function reasoningMembers(block2) {
  if (block2?.type !== "reasoning") return void 0;
  const { field, reasoning_details } = isJsonObject2(block2.opaque) ? block2.opaque : {};
  const details = Array.isArray(reasoning_details) ? { reasoning_details } : {};
  const plain2 = field === "reasoning" || Array.isArray(reasoning_details);
  const text4 = block2.text === "" ? {} : { [plain2 ? "reasoning" : "reasoning_content"]: block2.text };
  const members2 = { ...text4, ...details };
  return Object.keys(members2).length === 0 ? void 0 : members2;
}
function wholeReasoning(blocks) {
  const whole2 = {};
  for (const block2 of blocks) {
    for (const [name2, value] of Object.entries(reasoningMembers(block2) ?? {})) {
      const before = whole2[name2];
      const text4 = typeof before === "string" && typeof value === "string";
      whole2[name2] = text4 ? before + value : value;
    }
  }
  return whole2;
}

// ../../src/wire/openai-headers.ts
function openaiHeaders(requestId) {
  return {
    "x-request-id": requestId,
    "openai-version": "2020-10-01",
    "openai-processing-ms": "1"
  };
}

// ../../src/wire/openai-usage.ts
function chatUsage(usage2) {
  const { inputTokens, outputTokens, reasoningTokens, extra } = usage2;
  return {
    ...inputTokens === void 0 ? {} : { prompt_tokens: inputTokens },
    ...outputTokens === void 0 ? {} : { completion_tokens: outputTokens },
    ...total(usage2),
    ...inputDetails2("prompt_tokens_details", usage2),
    ...reasoningTokens === void 0 ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } },
    ...extra
  };
}
function responsesUsage(usage2) {
  const { inputTokens = 0, outputTokens = 0, extra } = usage2;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage2.cachedInputTokens ?? 0,
      cache_write_tokens: usage2.cacheWriteInputTokens ?? 0
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage2.reasoningTokens ?? 0 },
    total_tokens: usage2.totalTokens ?? inputTokens + outputTokens,
    ...extra
  };
}
function total({ inputTokens, outputTokens, totalTokens }) {
  if (totalTokens !== void 0) return { total_tokens: totalTokens };
  if (inputTokens === void 0 || outputTokens === void 0) return {};
  return { total_tokens: inputTokens + outputTokens };
}
function inputDetails2(name2, usage2) {
  const { cachedInputTokens, cacheWriteInputTokens } = usage2;
  if (cachedInputTokens === void 0 && cacheWriteInputTokens === void 0) return {};
  return {
    [name2]: {
      ...cachedInputTokens === void 0 ? {} : { cached_tokens: cachedInputTokens },
      ...cacheWriteInputTokens === void 0 ? {} : { cache_write_tokens: cacheWriteInputTokens }
    }
  };
}

// ../../src/wire/openai-chat.ts
var chatFinishWords = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  content_filter: "content_filter",
  error: "error",
  other: "other"
};
var openaiChat = {
  defaultModel: "gpt-4o-2024-08-06",
  namedEvents: false,
  headers: openaiHeaders,
  body(plan, context) {
    const { finish: finish3, usage: usage2 } = ending(plan);
    return {
      ...envelope(context, "chat.completion"),
      choices: [{ index: 0, message: message2(plan), logprobs: null, finish_reason: finish3 }],
      ...usage2 === void 0 ? {} : { usage: usage2 }
    };
  },
  stream(plan, context, writer) {
    const head = envelope(context, "chat.completion.chunk");
    const tail = context.includeUsage ? { usage: null } : {};
    const chunk = (delta, finish3 = null) => {
      const choice = { index: 0, delta, logprobs: null, finish_reason: finish3 };
      writer.event({ ...head, choices: [choice], ...tail });
    };
    const toolIndex = /* @__PURE__ */ new Map();
    const toolDelta = (block2, call) => chunk({ tool_calls: [{ index: toolIndex.get(block2) ?? 0, ...call }] });
    const opening = plan.blocks[0]?.type === "tool_call" ? null : "";
    chunk({ role: "assistant", content: opening, refusal: null });
    return {
      begin() {
      },
      open(block2) {
        const call = plan.blocks[block2];
        if (call?.type !== "tool_call") return;
        toolIndex.set(block2, toolIndex.size);
        const { id, name: name2 } = call;
        toolDelta(block2, { id, type: "function", function: { name: name2, arguments: "" } });
      },
      delta(block2, text4) {
        const whole2 = plan.blocks[block2];
        if (whole2?.type === "text") chunk({ content: text4 });
        else if (whole2?.type === "tool_call") toolDelta(block2, { function: { arguments: text4 } });
      },
      close(block2) {
        const members2 = reasoningMembers(plan.blocks[block2]);
        if (members2 !== void 0) chunk(members2);
      },
      finish() {
        const { finish: finish3, usage: usage2 } = ending(plan);
        chunk({}, finish3);
        if (usage2 !== void 0 && context.includeUsage)
          writer.event({ ...head, choices: [], usage: usage2 });
        writer.text("data: [DONE]\n\n");
      },
      fail: (failure2) => writer.event({ error: openaiError(wordsOf2("openai_chat", failure2)) })
    };
  }
};
function envelope(context, object) {
  const { id, created, model } = context;
  return {
    id: `chatcmpl-${id}`,
    object,
    created,
    model,
    service_tier: "default",
    system_fingerprint: null
  };
}
function ending(plan) {
  const finish3 = plan.end.type === "finished" ? chatFinishWords[plan.end.reason] : "stop";
  return plan.usage === void 0 ? { finish: finish3 } : { finish: finish3, usage: chatUsage(plan.usage) };
}
function message2(plan) {
  const content2 = joined(plan.blocks, "text");
  const calls = plan.blocks.flatMap(
    (block2) => block2.type === "tool_call" ? [{ id: block2.id, type: "function", function: { name: block2.name, arguments: block2.text } }] : []
  );
  return {
    role: "assistant",
    content: content2 === "" && calls.length > 0 ? null : content2,
    ...wholeReasoning(plan.blocks),
    ...calls.length === 0 ? {} : { tool_calls: calls },
    refusal: null,
    annotations: []
  };
}
function joined(blocks, type) {
  return blocks.map((block2) => block2.type === type ? block2.text : "").join("");
}

// ../../src/wire/openai-responses-items.ts
function itemId(block2, index, id) {
  const own = block2.type === "reasoning" && isJsonObject2(block2.opaque) ? block2.opaque["id"] : void 0;
  if (typeof own === "string") return own;
  const prefix = { text: "msg", reasoning: "rs", tool_call: "fc", image: "ig" }[block2.type];
  return `${prefix}_${id}_${index}`;
}
function textPart(text4) {
  return { type: "output_text", annotations: [], logprobs: [], text: text4 };
}
function summaryPart(text4) {
  return { type: "summary_text", text: text4 };
}
function outputItem2(block2, id, status2) {
  const started = status2 === "in_progress";
  switch (block2.type) {
    case "text":
      return {
        id,
        type: "message",
        status: status2,
        content: started ? [] : [textPart(block2.text)],
        role: "assistant"
      };
    case "reasoning":
      return reasoningItem(block2.text, started ? void 0 : block2.opaque, id, started);
    case "tool_call":
      return {
        id,
        type: "function_call",
        status: status2,
        arguments: started ? "" : block2.text,
        call_id: block2.id,
        name: block2.name
      };
    case "image":
      return {
        id,
        type: "image_generation_call",
        status: status2,
        result: started || block2.image.type !== "base64" ? null : block2.image.base64
      };
    default:
      return assertNever(block2);
  }
}
function reasoningItem(text4, opaque, id, started) {
  const summary = started || text4 === "" ? [] : [summaryPart(text4)];
  return { id, type: "reasoning", summary, ...encrypted(opaque) };
}
function encrypted(opaque) {
  if (opaque === void 0) return {};
  if (!isJsonObject2(opaque) || typeof opaque["id"] !== "string")
    return { encrypted_content: asString(opaque) };
  const { encrypted_content } = opaque;
  return encrypted_content === void 0 ? {} : { encrypted_content };
}

// ../../src/wire/openai-responses.ts
var openaiResponses = {
  defaultModel: "gpt-5-2025-08-07",
  namedEvents: true,
  headers: openaiHeaders,
  body: (plan, context) => ({
    ...response(plan, context, "ended"),
    billing: { payer: "developer" }
  }),
  stream(plan, context, writer) {
    const say2 = sequencedEvents(writer);
    const item = (block2) => itemEvents(plan, context, block2, say2);
    say2("response.created", { response: response(plan, context, "started") });
    say2("response.in_progress", { response: response(plan, context, "started") });
    return {
      begin() {
      },
      open: (block2) => item(block2).open(),
      delta: (block2, text4) => item(block2).delta(text4),
      close: (block2) => item(block2).close(),
      finish() {
        say2(`response.${outcome(plan).status}`, { response: response(plan, context, "ended") });
      },
      fail(failure2) {
        say2("error", { error: openaiError(wordsOf2("openai_responses", failure2)) });
        say2("response.failed", { response: failedResponse2(plan, context, failure2) });
      }
    };
  }
};
function sequencedEvents(writer) {
  let sequence = 0;
  return (type, members2) => {
    writer.event({ type, ...members2, sequence_number: sequence++ }, type);
  };
}
function itemEvents(plan, context, index, say2) {
  const block2 = plan.blocks[index];
  if (block2 === void 0) throw new RangeError(`no block ${index}`);
  const id = itemId(block2, index, context.id);
  const at2 = { item_id: id, output_index: index };
  const stages = {
    text: {
      open: () => say2("response.content_part.added", { ...at2, content_index: 0, part: textPart("") }),
      delta: (delta) => say2("response.output_text.delta", { ...at2, content_index: 0, delta, logprobs: [] }),
      close() {
        const { text: text4 } = block2;
        say2("response.output_text.done", { ...at2, content_index: 0, text: text4, logprobs: [] });
        say2("response.content_part.done", { ...at2, content_index: 0, part: textPart(text4) });
      }
    },
    reasoning: {
      open() {
        if (block2.text === "") return;
        say2("response.reasoning_summary_part.added", {
          ...at2,
          summary_index: 0,
          part: summaryPart("")
        });
      },
      delta(delta) {
        if (block2.text === "") return;
        say2("response.reasoning_summary_text.delta", { ...at2, summary_index: 0, delta });
      },
      close() {
        const { text: text4 } = block2;
        if (text4 === "") return;
        say2("response.reasoning_summary_text.done", { ...at2, summary_index: 0, text: text4 });
        const part2 = summaryPart(text4);
        say2("response.reasoning_summary_part.done", { ...at2, summary_index: 0, part: part2 });
      }
    },
    tool_call: {
      open() {
      },
      delta: (delta) => say2("response.function_call_arguments.delta", { ...at2, delta }),
      close: () => say2("response.function_call_arguments.done", { ...at2, ...callEnd(block2) })
    },
    image: { open() {
    }, delta() {
    }, close() {
    } }
  };
  const stage = stages[block2.type];
  return {
    open() {
      const item = outputItem2(block2, id, "in_progress");
      say2("response.output_item.added", { output_index: index, item });
      stage.open();
    },
    delta: (text4) => stage.delta(text4),
    close() {
      stage.close();
      const item = outputItem2(block2, id, itemStatus(plan, index));
      say2("response.output_item.done", { output_index: index, item });
    }
  };
}
function callEnd(block2) {
  return { arguments: block2.text, name: block2.type === "tool_call" ? block2.name : "" };
}
function itemStatus(plan, index) {
  const last = index === plan.blocks.length - 1;
  return last && outcome(plan).status === "incomplete" ? "incomplete" : "completed";
}
function outcome(plan) {
  const reason = plan.end.type === "finished" ? plan.end.reason : "stop";
  switch (reason) {
    case "length":
      return { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    case "content_filter":
      return { status: "incomplete", incomplete_details: { reason: "content_filter" } };
    case "other":
    case "error":
      return { status: "incomplete", incomplete_details: { reason } };
    case "stop":
    case "tool_calls":
      return { status: "completed", incomplete_details: null };
    default:
      return assertNever(reason);
  }
}
function response(plan, context, stage) {
  const ended = stage === "ended";
  const { status: status2, incomplete_details } = ended ? outcome(plan) : { status: "in_progress", incomplete_details: null };
  return {
    ...responseHead(context),
    status: status2,
    incomplete_details,
    output: ended ? outputItems(plan, context) : [],
    usage: ended && plan.usage !== void 0 ? responsesUsage(plan.usage) : null
  };
}
function failedResponse2(plan, context, failure2) {
  const { word, message: message3 } = wordsOf2("openai_responses", failure2);
  return {
    ...response(plan, context, "started"),
    status: "failed",
    error: { code: word ?? "invalid_prompt", message: message3 }
  };
}
function outputItems(plan, context) {
  return plan.blocks.map(
    (block2, index) => outputItem2(block2, itemId(block2, index, context.id), itemStatus(plan, index))
  );
}
function responseHead({ id, created, model }) {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    background: false,
    error: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: false,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    user: null,
    metadata: {}
  };
}

// ../../src/wire/renderers.ts
var renderers = {
  openai_chat: openaiChat,
  openai_responses: openaiResponses,
  anthropic: anthropic2,
  gemini: gemini2
};

// ../../src/wire/render-plan.ts
function renderPlan(format, plan, options) {
  const { end: end2 } = plan;
  if (end2.type === "refused") return refusal3(format, plan, end2.failure, options.requestId);
  return options.stream ? streamed(format, plan, options) : whole(format, plan, options);
}
var html = "<html><body><h1>502 Bad Gateway</h1></body></html>";
function refusal3(format, plan, failure2, requestId) {
  const writer = waitedWriter(plan);
  if (failure2.status === void 0) {
    if (failure2.reason === "timeout") return silence("stall");
    if (failure2.reason === "network_error") return silence("cut");
    if (failure2.reason === "malformed_response") {
      writer.text(html);
      return {
        status: 200,
        headers: { "content-type": "text/html" },
        frames: writer.frames,
        end: "normal"
      };
    }
  }
  const id = failure2.requestId ?? requestId;
  const { status: status2, body, headers } = renderFailure(format, failure2, id);
  writer.text(JSON.stringify(body));
  return {
    status: status2,
    headers: { ...renderers[format].headers(id), "content-type": jsonType(format), ...headers },
    frames: writer.frames,
    end: "normal"
  };
}
function silence(end2) {
  return { status: 0, headers: {}, frames: [], end: end2 };
}
function whole(format, plan, options) {
  const { end: end2 } = plan;
  if (end2.type === "failed") return refusal3(format, plan, end2.failure, options.requestId);
  if (end2.type === "broken" && end2.how === "stall") return silence("stall");
  const writer = waitedWriter(plan);
  const text4 = JSON.stringify(renderers[format].body(plan, options));
  writer.text(end2.type === "broken" ? text4.slice(0, text4.length / 2) : text4);
  const headers = {
    ...renderers[format].headers(options.requestId),
    "content-type": jsonType(format)
  };
  const cut = end2.type === "broken" && end2.how === "cut";
  return { status: 200, headers, frames: writer.frames, end: cut ? "cut" : "normal" };
}
function streamed(format, plan, options) {
  const array = options.framing === "json_array";
  const writer = array ? jsonArrayWriter() : frameWriter();
  const renderer = renderers[format];
  const waits = plan.steps.findIndex((step) => step.type !== "wait");
  const lead = waits === -1 ? plan.steps.length : waits;
  for (const step of plan.steps.slice(0, lead)) if (step.type === "wait") writer.wait(step.ms);
  const stream = renderer.stream(plan, options, writer);
  for (const step of plan.steps.slice(lead)) take2(step, stream, writer, renderer.namedEvents);
  const end2 = endStream(plan, stream, writer);
  return {
    status: 200,
    headers: {
      ...renderer.headers(options.requestId),
      "content-type": array ? jsonType(format) : "text/event-stream; charset=utf-8"
    },
    frames: writer.frames,
    end: end2
  };
}
function take2(step, stream, writer, named3) {
  switch (step.type) {
    case "open":
      return stream.open(step.block);
    case "delta":
      return stream.delta(step.block, step.text);
    case "close":
      return stream.close(step.block);
    case "raw":
      return rawEvent(step.chunk, writer, named3);
    case "wait":
      return writer.wait(step.ms);
    default:
      return assertNever(step);
  }
}
function rawEvent(chunk, writer, named3) {
  const event = typeof chunk === "object" && chunk !== null && !Array.isArray(chunk) ? chunk : { type: "raw_chunk", chunk };
  const type = "type" in event ? event.type : void 0;
  writer.event(event, named3 ? typeof type === "string" ? type : "raw_chunk" : void 0);
}
function endStream(plan, stream, writer) {
  const { end: end2 } = plan;
  switch (end2.type) {
    case "finished":
      stream.finish();
      writer.end();
      return "normal";
    case "failed":
      stream.fail(end2.failure);
      writer.end();
      return "normal";
    case "broken":
      stream.begin();
      if (end2.how === "malformed") writer.text('data: {"malformed": \n\n');
      return end2.how === "malformed" ? "normal" : end2.how;
    case "refused":
      return "normal";
    default:
      return assertNever(end2);
  }
}
function waitedWriter(plan) {
  const writer = frameWriter();
  for (const step of plan.steps) if (step.type === "wait") writer.wait(step.ms);
  return writer;
}
function jsonType(format) {
  return format === "gemini" ? "application/json; charset=UTF-8" : "application/json";
}

// ../../src/wire/wire-renderer.ts
var wireEpoch = 1767225600;

// ../../src/wire/render-wire.ts
function renderWire(format, script, options = {}) {
  validateScript({ script });
  const plan = planScript(script);
  const id = plan.id ?? `fake${options.id ?? "1"}`;
  const answer2 = renderPlan(format, plan, {
    id,
    created: wireEpoch,
    stream: options.stream ?? false,
    model: plan.model ?? options.model ?? renderers[format].defaultModel,
    requestId: options.requestId ?? `req_${id}`,
    includeUsage: options.includeUsage ?? true,
    framing: options.framing ?? "sse"
  });
  const { chunking } = options;
  return chunking === void 0 ? answer2 : { ...answer2, frames: rechunk(answer2.frames, chunking) };
}

// ../../src/wire/alter-answer.ts
function cutAfterEvents(answer2, events) {
  const { frames } = answer2;
  if (frames.length === 1) return { ...answer2, frames: frames.map(firstHalf), end: "cut" };
  if (events >= frames.length) return answer2;
  return { ...answer2, frames: frames.slice(0, Math.max(0, events)), end: "cut" };
}
function malformEvent(answer2, index) {
  const { frames } = answer2;
  const at2 = frames.length === 1 ? 0 : index;
  return { ...answer2, frames: frames.map((frame, i) => i === at2 ? malformed(frame) : frame) };
}
function slowAnswer(answer2, ms) {
  const [first2, ...rest] = answer2.frames;
  if (first2 === void 0) return answer2;
  return { ...answer2, frames: [{ ...first2, delayMs: (first2.delayMs ?? 0) + ms }, ...rest] };
}
function firstHalf(frame) {
  return { ...frame, bytes: frame.bytes.subarray(0, frame.bytes.length / 2) };
}
var decoder = new TextDecoder();
var encoder2 = new TextEncoder();
function malformed(frame) {
  const text4 = decoder.decode(frame.bytes);
  const data = text4.indexOf("{");
  const half = data === -1 ? text4.slice(0, text4.length / 2) : text4.slice(0, (data + text4.length) / 2);
  const end2 = text4.endsWith("\n\n") ? "\n\n" : "";
  return { ...frame, bytes: encoder2.encode(data === -1 ? `data: {${end2}` : half + end2) };
}

// ../../src/server/apply-fault.ts
function applyFault(answer2, fault2) {
  if (fault2 === void 0) return answer2;
  const { slowMs, cutAfter, malformedAt } = fault2;
  let result = answer2;
  if (malformedAt !== void 0) result = malformEvent(result, malformedAt);
  if (cutAfter !== void 0) result = cutAfterEvents(result, cutAfter);
  return slowMs === void 0 ? result : slowAnswer(result, slowMs);
}

// ../../src/server/prepared-answer.ts
function prepareAnswer(answer2, pieces = false) {
  const { status: status2, headers, end: end2 } = answer2;
  const frames = pieces ? answer2.frames : joinFrames(answer2.frames);
  const writes = frames.map(({ bytes, delayMs: delayMs2 = 0 }) => ({ bytes, delayMs: delayMs2 }));
  const [only] = writes;
  const length = frames.length === 1 && end2 === "normal" ? only?.bytes.length : void 0;
  const streamed2 = headers["content-type"]?.startsWith("text/event-stream") ?? false;
  const framing = length === void 0 || streamed2 ? { "transfer-encoding": "chunked" } : { "content-length": String(length) };
  return { status: status2, headers: { ...headers, ...framing }, writes, end: end2 };
}

// ../../src/server/chat-answers.ts
var maxKept = 4096;
function chatAnswers(chunking) {
  const kept = /* @__PURE__ */ new Map();
  const places = /* @__PURE__ */ new WeakMap();
  return {
    answer({ script, index }, ask, fault2) {
      const { format, stream, framing, includeUsage, model } = ask;
      const place = places.get(script) ?? index;
      places.set(script, place);
      const taken = { script, index: place };
      const key = `${place} ${format} ${stream} ${framing} ${includeUsage} ${model}`;
      const known2 = fault2 === void 0 ? kept.get(key) : void 0;
      if (known2 !== void 0) return known2;
      const answer2 = applyFault(render(taken, ask), fault2);
      const frames = chunking === void 0 ? answer2.frames : rechunk(answer2.frames, chunking);
      const prepared = prepareAnswer({ ...answer2, frames }, chunking !== void 0);
      if (fault2 !== void 0 || answer2.status !== 200) return prepared;
      if (kept.size >= maxKept) kept.clear();
      kept.set(key, prepared);
      return prepared;
    }
  };
}
function render({ script, index }, ask) {
  const { format, ...options } = ask;
  return renderWire(format, script, { ...options, id: String(index + 1) });
}

// ../../src/testing/plain-copy.ts
function plainCopy(value, known2 = /* @__PURE__ */ new WeakMap()) {
  return copy(value, known2);
}
function copy(value, known2) {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  const earlier = known2.get(value);
  if (earlier !== void 0) return earlier;
  const result = Array.isArray(value) ? [] : {};
  known2.set(value, result);
  if (Array.isArray(result)) {
    for (const item of value) result.push(copy(item, known2));
  } else {
    for (const [key, member2] of Object.entries(value)) {
      if (member2 === void 0 || typeof member2 === "function") continue;
      Object.defineProperty(result, key, { value: copy(member2, known2), enumerable: true });
    }
  }
  return Object.freeze(result);
}

// ../../src/testing/call-log.ts
function callLog(keeping) {
  const calls = [];
  const known2 = /* @__PURE__ */ new WeakMap();
  let listed2 = Object.freeze([]);
  return {
    get count() {
      return calls.length;
    },
    add(request2, options) {
      calls.push({ held: keeping.hold(request2), options: plainOptions(options) });
    },
    list() {
      if (listed2.length === calls.length) return listed2;
      const added = calls.slice(listed2.length).map(
        ({ held, options }) => Object.freeze({
          request: plainCopy(keeping.restore(held), known2),
          options: Object.freeze(defined(options))
        })
      );
      listed2 = Object.freeze([...listed2, ...added]);
      return listed2;
    }
  };
}
function plainOptions(options) {
  const { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId } = options;
  return { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId };
}
function withoutKey(options) {
  const { apiKey: _key, ...rest } = options;
  return rest;
}

// ../../src/testing/check-image-script.ts
var checkImageScript = (value) => {
  if (!Array.isArray(value)) return refuse("a list of entries", value);
  let issues = fine;
  for (const [index, entry] of value.entries()) {
    issues = join(issues, within(index, checkImageEntry(entry)));
  }
  return issues;
};
function checkImageEntry(entry) {
  if (!Array.isArray(entry)) return refuse('an entry, such as ["ok", images]', entry);
  const items = entry;
  const [tag2, first2, facts2] = items;
  switch (tag2) {
    case "ok":
      return join(
        join(arity(entry, 2, 3), within(1, images(first2))),
        entry.length > 2 ? within(2, imageFacts(facts2)) : fine
      );
    case "error":
      return join(arity(entry, 2, 2), within(1, imageError(first2)));
    case "retry_until_call":
      return join(arity(entry, 2, 2), within(1, count(first2)));
    default:
      return [{ path: "", problem: `has the unknown tag ${JSON.stringify(tag2)}; ${grammar}` }];
  }
}
var grammar = 'image scripts say ["ok", images], ["ok", images, {usage}], ["error", error] and ["retry_until_call", n]';
function arity(entry, least, most) {
  if (entry.length >= least && entry.length <= most) return fine;
  const wanted = least === most ? `${most}` : `${least} or ${most}`;
  return [{ path: "", problem: `must have ${wanted} elements, not ${entry.length}` }];
}
var images = listOf(validateImage);
var amount = must(
  "a number, 0 or more",
  (value) => typeof value === "number" && Number.isFinite(value) && value >= 0
);
var imageUsage = shape(
  {},
  {
    images: amount,
    inputTokens: amount,
    outputTokens: amount,
    totalTokens: amount,
    size: text,
    quality: text,
    extra: jsonObject
  }
);
var imageFacts = shape(
  {},
  { usage: imageUsage, requestId: someText, id: text, model: text, metadata: jsonObject }
);
var imageError = (value) => {
  if (isAllmError(value)) {
    return value.kind === "image_adapter" ? fine : refuse("an ImageAdapterError", value);
  }
  if (!isPlainObject(value) || value["kind"] !== "image_adapter") {
    return refuse("an ImageAdapterError or its JSON", value);
  }
  const { reason } = value;
  const known2 = imageAdapterErrorReasons.some((word) => word === reason);
  return known2 ? fine : within("reason", refuse(imageAdapterErrorReasons.join(", "), reason));
};

// ../../src/testing/check-fake-images-options.ts
function checkFakeImagesOptions(options) {
  const script = isPlainObject(options) ? options["script"] ?? [] : [];
  assertValid("invalid_script", within("script", checkImageScript(script)));
  assertValid("invalid_options", check(options));
}
var check = optionsOf({
  script: () => fine,
  scriptCursor: must("made by createScriptCursor()", isScriptCursor),
  capture: must("a function", (value) => typeof value === "function")
});

// ../../src/testing/image-failures.ts
var provider = "fake";
function unsupportedOperation({ operation }, requestId) {
  const message3 = `the fake has no operation ${JSON.stringify(operation)}`;
  const metadata2 = { operation };
  return new ImageAdapterError("unsupported_operation", message3, { provider, requestId, metadata: metadata2 });
}
function noScriptedImage(entryCount, requestId) {
  const entries = entryCount === 1 ? "1 entry" : `${entryCount} entries`;
  const message3 = `no scripted image: the script has ${entries} and all were played`;
  const metadata2 = { cause: "no_scripted_image" };
  return new ImageAdapterError("unknown", message3, { provider, requestId, metadata: metadata2 });
}
function tryAgain(firstGoodCall, requestId) {
  const message3 = `a scripted rate limit: the next entry is played from call ${firstGoodCall} on`;
  return new ImageAdapterError("rate_limited", message3, { provider, requestId, retryAfterMs: 0 });
}

// ../../src/testing/stopped-by.ts
function stoppedBy(signal2, { provider: provider2, requestId }, eventIndex) {
  const reason = signal2.reason;
  if (isAllmError(reason)) return reason;
  return new StreamError("cancelled", `the call to ${provider2} was cancelled`, {
    provider: provider2,
    requestId,
    eventIndex,
    cause: reason
  });
}

// ../../src/testing/play-image-call.ts
function playImageCall(script, request2, requestId, signal2) {
  if (!imageOperations.includes(request2.operation)) throw unsupportedOperation(request2, requestId);
  if (signal2?.aborted === true) throw stoppedBy(signal2, { provider: "fake", requestId }, 0);
  const entry = takeEntry(script, requestId);
  switch (entry[0]) {
    case "ok":
      return imageResponse(entry, request2, requestId);
    case "error":
      throw isAllmError(entry[1]) ? entry[1] : errorFromJSON(entry[1]);
    default:
      return assertNever(entry);
  }
}
function takeEntry({ entries, cursor }, requestId) {
  for (; ; ) {
    const entry = entries[cursor.index];
    if (entry === void 0) throw noScriptedImage(entries.length, requestId);
    if (entry[0] === "retry_until_call" && cursor.stay() < entry[1]) {
      throw tryAgain(entry[1], requestId);
    }
    cursor.advance();
    if (entry[0] !== "retry_until_call") return entry;
  }
}
function imageResponse([, images2, facts2 = {}], request2, requestId) {
  return defined({
    requestId: facts2.requestId ?? requestId,
    id: facts2.id,
    model: facts2.model ?? request2.model,
    provider: "fake",
    images: images2,
    usage: { images: images2.length, ...facts2.usage },
    metadata: facts2.metadata ?? request2.metadata
  });
}

// ../../src/testing/fake-images.ts
function fakeImages(options = {}) {
  checkFakeImagesOptions(options);
  const { scriptCursor = createScriptCursor(), capture } = options;
  const script = { entries: plainCopy(options.script ?? []), cursor: scriptCursor };
  const log = callLog({
    hold: (request2) => ({ ...request2 }),
    restore: (request2) => request2
  });
  const remaining = () => Math.max(0, script.entries.length - scriptCursor.index);
  return {
    provider: "fake",
    supportedOperations: () => imageOperations,
    get calls() {
      return log.list();
    },
    get remaining() {
      return remaining();
    },
    async generate(request2, callOptions2 = {}) {
      log.add(request2, callOptions2);
      capture?.({ request: request2, options: withoutKey(callOptions2) });
      const requestId = callOptions2.requestId ?? callOptions2.newId?.("request") ?? `fake-request-${log.count}`;
      return playImageCall(script, request2, requestId, callOptions2.signal);
    },
    assertDone() {
      const left = remaining();
      if (left === 0) return;
      const entries = left === 1 ? "1 entry was" : `${left} entries were`;
      throw new ValidationError("invalid_script", [
        { path: "script", problem: `${entries} not played` }
      ]);
    }
  };
}

// ../../src/server/check-fake-server-options.ts
function checkFakeServerOptions(options) {
  validateScript({ script: options.script, scripts: options.scripts });
  fakeImages({ script: options.images });
  assertValid("invalid_options", check2(options));
}
var any = () => fine;
var share = between(0, 1);
var milliseconds3 = must(
  "a number of milliseconds, 0 or more",
  (value) => typeof value === "number" && Number.isFinite(value) && value >= 0
);
var seed = must("an integer", Number.isSafeInteger);
var status = must(
  "an HTTP status from 400 to 599",
  (value) => Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599
);
var failures = optionsOf({
  seed,
  rate429: share,
  rate5xx: share,
  retryAfterMs: milliseconds3,
  slowMs: milliseconds3,
  rateSlow: share,
  cutAfter: count,
  rateCut: share,
  malformedAt: integer,
  rateMalformed: share
});
var fault = optionsOf({
  status,
  retryAfterMs: milliseconds3,
  message: text,
  slowMs: milliseconds3,
  cutAfter: integer,
  malformedAt: integer
});
var check2 = optionsOf({
  script: any,
  scripts: any,
  images: any,
  repeat: flag,
  cursor: oneOf(["shared", "per_key"]),
  requireKey: flag,
  validateRequests: flag,
  models: listOf(someText),
  chunking: shape({ seed, maxBytes: count }),
  failures: (value) => failures(value),
  faults: listOf((value) => value === null ? fine : fault(value)),
  port: must("a port", (value) => Number.isInteger(value) && between(0, 65535)(value) === fine),
  host: someText,
  requestLimit: count,
  clock: must("a clock with now and sleep", isClock)
});
function isClock(value) {
  return typeof value === "object" && value !== null && "now" in value && "sleep" in value;
}

// ../../src/server/anthropic-words.ts
var expectations = {
  string: "a valid string",
  number: "a valid number",
  integer: "a valid integer",
  boolean: "a valid boolean",
  array: "a valid list",
  object: "a valid dictionary"
};
var anthropicWords2 = {
  nullable: false,
  unknown: (name2) => ({ message: `${name2}: Extra inputs are not permitted` }),
  wrongKind: (name2, [expected = "object"]) => ({
    message: `${name2}: Input should be ${expectations[expected]}`
  })
};
function required(place) {
  return { message: `${place}: Field required` };
}
function patternProblem(place, value, pattern) {
  if (value === void 0) return required(place);
  if (typeof value === "string" && pattern.test(value)) return void 0;
  return { message: `${place}: String should match pattern '${pattern.source}'` };
}

// ../../src/server/json-kind.ts
function kindOf2(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "undefined";
}
function objectsOf(value) {
  if (!Array.isArray(value)) return [];
  return value.map((item) => objectOf(item));
}
function objectOf(value) {
  return kindOf2(value) === "object" ? value : {};
}

// ../../src/server/request-problem.ts
function firstProblem(items, check3) {
  let index = 0;
  for (const item of items) {
    const problem = check3(item, index++);
    if (problem !== void 0) return problem;
  }
  return void 0;
}

// ../../src/server/check-anthropic-turns.ts
function anthropicTurnsProblem(messages2) {
  const [first2] = messages2;
  if (first2 === void 0) return { message: "messages: at least one message is required" };
  return firstProblem(
    messages2,
    (message3, index) => messageProblem(message3, index, index === messages2.length - 1)
  ) ?? (first2["role"] === "user" ? void 0 : { message: 'messages: first message must use the "user" role' }) ?? toolOrderProblem(messages2);
}
function messageProblem(message3, index, last) {
  const at2 = `messages.${index}`;
  const { role, content: content2 } = message3;
  const extra = Object.keys(message3).find((name2) => name2 !== "role" && name2 !== "content");
  if (extra !== void 0) return { message: `${at2}.${extra}: Extra inputs are not permitted` };
  if (role === void 0) return required(`${at2}.role`);
  if (role !== "user" && role !== "assistant" && role !== "system")
    return {
      message: `messages: Unexpected role "${shown(role)}". Allowed roles are "user" or "assistant".`
    };
  if (content2 === void 0) return required(`${at2}.content`);
  if (typeof content2 !== "string" && !Array.isArray(content2))
    return { message: `${at2}.content: Input should be a valid list` };
  if (content2.length === 0 && !(last && role === "assistant")) {
    const rule = "all messages must have non-empty content except for the optional final assistant message";
    return { message: `${at2}: ${rule}` };
  }
  if (last && role === "assistant" && endsInSpace(content2))
    return { message: "messages: final assistant content cannot end with trailing whitespace" };
  return firstProblem(
    objectsOf(content2),
    (block2, i) => blockProblem(block2, `${at2}.content.${i}`, role)
  );
}
function endsInSpace(content2) {
  const last = typeof content2 === "string" ? content2 : objectsOf(content2).at(-1)?.["text"];
  return typeof last === "string" && last !== "" && last !== last.trimEnd();
}
var blockIds = /^[a-zA-Z0-9_-]+$/;
function blockProblem(block2, at2, role) {
  const { type, text: text4, id, name: name2, input, tool_use_id } = block2;
  if (type === void 0) return required(`${at2}.type`);
  if (type === "text") {
    if (typeof text4 !== "string") return required(`${at2}.text.text`);
    if (text4 === "") return { message: "messages: text content blocks must be non-empty" };
    if (text4.trim() === "")
      return { message: "messages: text content blocks must contain non-whitespace text" };
  }
  if (type === "tool_use") {
    if (role !== "assistant") return misplaced(type, role);
    if (name2 === void 0) return required(`${at2}.tool_use.name`);
    if (input === void 0) return required(`${at2}.tool_use.input`);
    return patternProblem(`${at2}.tool_use.id`, id, blockIds);
  }
  if (type === "tool_result") {
    if (role !== "user") return misplaced(type, role);
    return patternProblem(`${at2}.tool_result.tool_use_id`, tool_use_id, blockIds);
  }
  if (type === "thinking" && typeof block2["signature"] !== "string")
    return required(`${at2}.thinking.signature`);
  return void 0;
}
function misplaced(type, role) {
  const other = role === "user" ? "assistant" : "user";
  return { message: `messages: \`${type}\` blocks can only be in \`${other}\` messages` };
}
function toolOrderProblem(messages2) {
  const seen = /* @__PURE__ */ new Set();
  let open2 = [];
  let openedAt = 0;
  for (const { index, blocks } of turnsOf(messages2)) {
    const problem = answersProblem(blocks, open2, { index, openedAt });
    if (problem !== void 0) return problem;
    open2 = idsOf(blocks, "tool_use", "id");
    openedAt = index;
    const repeated = open2.find((id, i) => seen.has(id) || open2.indexOf(id) !== i);
    if (repeated !== void 0)
      return { message: `messages.${index}: \`tool_use\` ids must be unique` };
    for (const id of open2) seen.add(id);
  }
  return open2.length === 0 ? void 0 : unanswered(openedAt, open2);
}
function turnsOf(messages2) {
  const turns = [];
  for (const [index, { role, content: content2 }] of messages2.entries()) {
    const blocks = typeof content2 === "string" ? [{ type: "text" }] : objectsOf(content2);
    const turn = turns.at(-1);
    if (turn?.role === role) turn?.blocks.push(...blocks);
    else turns.push({ role, index, blocks: [...blocks] });
  }
  return turns;
}
function answersProblem(blocks, open2, { index, openedAt }) {
  const answered = idsOf(blocks, "tool_result", "tool_use_id");
  const orphan2 = answered.find((id) => !open2.includes(id));
  if (orphan2 !== void 0) {
    const at2 = blocks.findIndex((block2) => block2["tool_use_id"] === orphan2);
    const message3 = `messages.${index}.content.${at2}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan2}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    return { message: message3 };
  }
  const leading = blocks.findIndex((block2) => block2["type"] !== "tool_result");
  const inPlace = leading === -1 ? answered : answered.slice(0, leading);
  const rest = open2.filter((id) => !inPlace.includes(id));
  return rest.length === 0 ? void 0 : unanswered(openedAt, rest);
}
function unanswered(index, ids) {
  const names = ids.join(", ");
  const message3 = `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${names}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  return { message: message3 };
}
function idsOf(blocks, type, member2) {
  return blocks.flatMap((block2) => block2["type"] === type ? [shown(block2[member2])] : []);
}

// ../../src/server/param-problem.ts
function paramProblem(body, table4, words2) {
  for (const [name2, value] of Object.entries(body)) {
    const kinds = Object.hasOwn(table4, name2) ? table4[name2] : void 0;
    if (kinds === void 0) return words2.unknown(name2);
    if (value === null && words2.nullable) continue;
    const kind = kindOf2(value);
    const fits = kinds.length === 0 || kinds.some((wanted) => isOfKind(value, wanted));
    if (!fits) return words2.wrongKind(name2, kinds, kind);
  }
  return void 0;
}
function isOfKind(value, wanted) {
  const kind = kindOf2(value);
  return kind === wanted || wanted === "number" && kind === "integer";
}

// ../../src/server/check-anthropic.ts
var table = {
  model: ["string"],
  max_tokens: ["integer"],
  messages: ["array"],
  system: ["string", "array"],
  tools: ["array"],
  tool_choice: ["object"],
  thinking: ["object"],
  output_config: ["object"],
  metadata: ["object"],
  stop_sequences: ["array"],
  stream: ["boolean"],
  temperature: ["number"],
  top_p: ["number"],
  top_k: ["integer"],
  service_tier: ["string"],
  speed: ["string"],
  inference_geo: ["string"],
  container: [],
  diagnostics: [],
  cache_control: [],
  user_profile_id: ["string"],
  workspace_id: ["string"]
};
var betaTable = {
  ...table,
  betas: ["array"],
  compaction: [],
  context_management: [],
  fallback_credit_token: [],
  fallbacks: [],
  mcp_servers: ["array"],
  output_format: ["object"],
  thread: []
};
function checkAnthropic(body, beta = false) {
  const { messages: messages2, max_tokens } = body;
  const tools3 = objectsOf(body["tools"]);
  return firstProblem(
    ["model", "max_tokens", "messages"],
    (name2) => body[name2] === void 0 ? required(name2) : void 0
  ) ?? paramProblem(body, beta ? betaTable : table, anthropicWords2) ?? (typeof max_tokens === "number" && max_tokens < 1 ? { message: "max_tokens: Input should be greater than or equal to 1" } : void 0) ?? anthropicTurnsProblem(objectsOf(messages2)) ?? systemProblem(body["system"]) ?? firstProblem(tools3, toolProblem) ?? duplicateProblem(tools3) ?? choiceProblem(body["tool_choice"], tools3) ?? settingsProblem(body) ?? cacheProblem(body);
}
function systemProblem(system) {
  return firstProblem(objectsOf(system), ({ type, text: text4 }, index) => {
    const at2 = `system.${index}`;
    if (type !== "text") return { message: `${at2}.type: Input should be 'text'` };
    return text4 === "" ? { message: "system: text content blocks must be non-empty" } : void 0;
  });
}
var toolName = /^[a-zA-Z0-9_-]{1,128}$/;
function toolProblem(tool2, index) {
  const { type, name: name2, input_schema, description } = tool2;
  if (type !== void 0 && type !== null && type !== "custom") return void 0;
  const at2 = `tools.${index}.custom`;
  const misnamed = patternProblem(`${at2}.name`, name2, toolName);
  if (misnamed !== void 0) return misnamed;
  if (description !== void 0 && typeof description !== "string")
    return { message: `${at2}.description: Input should be a valid string` };
  if (input_schema === void 0) return required(`${at2}.input_schema`);
  if (kindOf2(input_schema) !== "object")
    return { message: `${at2}.input_schema: Input should be a valid dictionary` };
  const { type: schemaType } = objectOf(input_schema);
  if (schemaType === void 0) return required(`${at2}.input_schema.type`);
  return schemaType === "object" ? void 0 : { message: `${at2}.input_schema.type: Input should be 'object'` };
}
function duplicateProblem(tools3) {
  const names = tools3.flatMap(({ name: name2 }) => typeof name2 === "string" ? [name2] : []);
  return new Set(names).size === names.length ? void 0 : { message: "tools: Tool names must be unique." };
}
function choiceProblem(choice, tools3) {
  if (choice === void 0) return void 0;
  const { type, name: name2 } = objectOf(choice);
  const types = ["auto", "any", "tool", "none"];
  if (typeof type !== "string" || !types.includes(type)) {
    const tags = types.map((tag2) => `'${tag2}'`).join(", ");
    const message3 = `tool_choice: Input tag '${shown(type)}' found using 'type' does not match any of the expected tags: ${tags}`;
    return { message: message3 };
  }
  if (tools3.length === 0 && type !== "none")
    return { message: "tool_choice: may only be specified while providing tools" };
  if (type === "tool" && !tools3.some((tool2) => tool2["name"] === name2))
    return { message: `Tool '${shown(name2)}' not found in provided tools` };
  return void 0;
}
function settingsProblem(body) {
  const { temperature, max_tokens, thinking } = body;
  if (typeof temperature === "number" && (temperature < 0 || temperature > 1))
    return { message: "temperature: range: 0..1" };
  const { type, budget_tokens } = objectOf(thinking);
  if (type !== "enabled") return void 0;
  if (typeof budget_tokens !== "number") return required("thinking.enabled.budget_tokens");
  if (budget_tokens < 1024)
    return {
      message: "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    };
  return typeof max_tokens === "number" && budget_tokens >= max_tokens ? { message: "`max_tokens` must be greater than `thinking.budget_tokens`." } : void 0;
}
function cacheProblem(body) {
  const { cache_control: _own, ...rest } = body;
  const found = countMarks(rest);
  if (found <= 4) return void 0;
  return {
    message: `A maximum of 4 blocks with cache_control may be provided. Found ${found}.`
  };
}
function countMarks(value) {
  let sum2 = 0;
  for (const item of Array.isArray(value) ? objectsOf(value) : []) sum2 += countMarks(item);
  for (const [name2, member2] of Object.entries(objectOf(value))) {
    if (name2 === "input" || name2 === "input_schema") continue;
    sum2 += name2 === "cache_control" && member2 !== null ? 1 : countMarks(member2);
  }
  return sum2;
}

// ../../src/server/gemini-words.ts
function unknownName(name2, at2) {
  const place = at2 === void 0 ? "" : ` at '${at2}'`;
  return {
    message: `Invalid JSON payload received. Unknown name "${name2}"${place}: Cannot find field.`
  };
}
function wrongKind(place, actual) {
  return { message: `Invalid value at '${snake(place)}' (${actual})` };
}
function geminiNames(table4) {
  return Object.fromEntries(
    Object.entries(table4).flatMap(([name2, kinds]) => [
      [name2, kinds],
      [snake(name2), kinds]
    ])
  );
}
function snake(name2) {
  return name2.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

// ../../src/server/check-gemini-turns.ts
var partData = /* @__PURE__ */ new Map([
  ["functionCall", "function_call"],
  ["functionResponse", "function_response"],
  ["inlineData", "inline_data"],
  ["fileData", "file_data"],
  ["executableCode", "executable_code"],
  ["codeExecutionResult", "code_execution_result"],
  ["toolCall", "tool_call"],
  ["toolResponse", "tool_response"]
]);
var partFacts = /* @__PURE__ */ new Set([
  "text",
  "thought",
  "thoughtSignature",
  "thought_signature",
  "videoMetadata",
  "video_metadata",
  "partMetadata",
  "part_metadata",
  "mediaResolution",
  "media_resolution"
]);
function geminiTurnsProblem(contents) {
  if (contents.length === 0)
    return { message: "* GenerateContentRequest.contents: contents is not specified\n" };
  return firstProblem(contents, contentProblem) ?? orderProblem(contents);
}
function contentProblem(content2, index) {
  const at2 = `contents[${index}]`;
  const extra = Object.keys(content2).find((name2) => name2 !== "role" && name2 !== "parts");
  if (extra !== void 0) return unknownName(extra, at2);
  const { role } = content2;
  if (role !== void 0 && role !== null && !["user", "model", "function"].includes(shown(role)))
    return { message: "Please use a valid role: user, model." };
  const parts2 = partsOf3(content2);
  if (parts2.length === 0)
    return { message: `* GenerateContentRequest.${at2}.parts: contents.parts must not be empty.
` };
  return firstProblem(parts2, (part2, i) => partProblem(part2, `${at2}.parts[${i}]`));
}
function partsOf3(content2) {
  const { parts: parts2 } = content2;
  return objectsOf(Array.isArray(parts2) ? parts2 : parts2 === void 0 ? [] : [parts2]);
}
function partProblem(part2, at2) {
  const names = [...partData].flat();
  const extra = Object.keys(part2).find((name2) => !names.includes(name2) && !partFacts.has(name2));
  if (extra !== void 0) return unknownName(extra, at2);
  const data = ["text", ...names].filter((name2) => part2[name2] !== void 0);
  if (data.length !== 1) {
    const rule = "required oneof field 'data' must have one initialized field";
    return { message: `* GenerateContentRequest.${at2}.data: ${rule}
` };
  }
  const call = functionPart(part2, "functionCall");
  const response2 = functionPart(part2, "functionResponse");
  const [kind, named3] = response2 === void 0 ? ["function_call", call] : ["function_response", response2];
  if (named3 === void 0 || typeof named3["name"] === "string" && named3["name"] !== "")
    return void 0;
  return { message: `* GenerateContentRequest.${at2}.${kind}.name: Name cannot be empty.
` };
}
function functionPart(part2, name2) {
  const value = part2[name2] ?? part2[partData.get(name2) ?? ""];
  return value === void 0 ? void 0 : objectOf(value);
}
function countParts(content2, name2) {
  if (content2 === void 0) return 0;
  return partsOf3(content2).filter((part2) => functionPart(part2, name2) !== void 0).length;
}
function orderProblem(contents) {
  return firstProblem(contents, (content2, index) => {
    const before = contents[index - 1];
    const calls = countParts(content2, "functionCall");
    const responses = countParts(content2, "functionResponse");
    const asked = countParts(before, "functionCall");
    if (calls > 0 && (before === void 0 || before["role"] === "model"))
      return {
        message: "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
      };
    if (responses > 0 && asked === 0)
      return {
        message: "Please ensure that function response turn comes immediately after a function call turn."
      };
    const open2 = calls > 0 && index === contents.length - 1;
    if (responses === asked && !open2) return void 0;
    return {
      message: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
    };
  });
}

// ../../src/server/gemini-schema-problem.ts
var keywords = new Set(
  [
    "type format title description nullable enum items maxItems minItems properties required",
    "minProperties maxProperties minimum maximum minLength maxLength pattern example anyOf",
    "propertyOrdering default max_items min_items min_properties max_properties min_length",
    "max_length any_of property_ordering"
  ].flatMap((line) => line.split(" "))
);
function schemaProblem(schema, at2) {
  const members2 = objectOf(schema);
  const unknown = Object.keys(members2).find((name2) => !keywords.has(name2));
  if (unknown !== void 0) return unknownName(unknown, at2);
  const { items, properties, anyOf, any_of } = members2;
  return (items === void 0 ? void 0 : schemaProblem(items, `${at2}.items`)) ?? firstProblem(
    Object.values(objectOf(properties)),
    (property, index) => schemaProblem(property, `${at2}.properties[${index}].value`)
  ) ?? firstProblem(
    objectsOf(anyOf ?? any_of),
    (option, index) => schemaProblem(option, `${at2}.any_of[${index}]`)
  );
}

// ../../src/server/check-gemini.ts
var requestNames = geminiNames({
  model: ["string"],
  contents: ["array", "object"],
  systemInstruction: ["object", "string"],
  tools: ["array", "object"],
  toolConfig: ["object"],
  safetySettings: ["array"],
  generationConfig: ["object"],
  cachedContent: ["string"],
  labels: ["object"],
  serviceTier: ["string"],
  store: ["boolean"]
});
var configNames = geminiNames({
  candidateCount: ["integer"],
  stopSequences: ["array", "string"],
  maxOutputTokens: ["integer"],
  temperature: ["number"],
  topP: ["number"],
  topK: ["number"],
  seed: ["integer"],
  responseMimeType: ["string"],
  responseSchema: ["object"],
  responseJsonSchema: [],
  responseJsonSchemaOrdered: [],
  presencePenalty: ["number"],
  frequencyPenalty: ["number"],
  responseLogprobs: ["boolean"],
  logprobs: ["integer"],
  enableEnhancedCivicAnswers: ["boolean"],
  responseModalities: ["array", "string"],
  speechConfig: ["object"],
  thinkingConfig: ["object"],
  imageConfig: ["object"],
  mediaResolution: ["string"],
  audioTimestamp: ["boolean"]
});
function checkGemini(body) {
  const config = objectOf(either(body, "generationConfig", "generation_config"));
  const tools3 = listOf2(body["tools"]);
  return paramProblem(body, requestNames, {
    nullable: true,
    unknown: (name2) => unknownName(name2),
    wrongKind: (name2, _, actual) => wrongKind(name2, actual)
  }) ?? paramProblem(config, configNames, {
    nullable: true,
    unknown: (name2) => unknownName(name2, "generation_config"),
    wrongKind: (name2, _, actual) => wrongKind(`generation_config.${name2}`, actual)
  }) ?? geminiTurnsProblem(listOf2(body["contents"])) ?? firstProblem(tools3, toolProblem2) ?? duplicateProblem2(tools3) ?? schemaProblem(
    either(config, "responseSchema", "response_schema"),
    "generation_config.response_schema"
  ) ?? rangeProblem(config);
}
function listOf2(value) {
  return objectsOf(
    Array.isArray(value) || value === void 0 || value === null ? value ?? [] : [value]
  );
}
function either(value, camel, snake2) {
  return value[camel] ?? value[snake2];
}
function declarations(tool2) {
  return listOf2(either(tool2, "functionDeclarations", "function_declarations"));
}
var functionName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;
function toolProblem2(tool2, toolIndex) {
  return firstProblem(declarations(tool2), ({ name: name2, parameters }, index) => {
    const at2 = `tools[${toolIndex}].function_declarations[${index}]`;
    if (typeof name2 !== "string" || !functionName.test(name2)) {
      const rule = "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.";
      return { message: `* GenerateContentRequest.${at2}.name: ${rule}
` };
    }
    return schemaProblem(parameters, `${at2}.parameters`);
  });
}
function duplicateProblem2(tools3) {
  const seen = /* @__PURE__ */ new Set();
  return firstProblem(tools3.flatMap(declarations), ({ name: name2 }) => {
    if (typeof name2 !== "string") return void 0;
    if (seen.has(name2)) return { message: `Duplicate function declaration found: ${name2}` };
    seen.add(name2);
    return void 0;
  });
}
function rangeProblem(config) {
  const { temperature } = config;
  if (typeof temperature !== "number" || temperature >= 0 && temperature <= 2) return void 0;
  const message3 = `* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].
`;
  return { message: message3 };
}

// ../../src/server/openai-words.ts
var openaiWords = {
  nullable: true,
  unknown: (name2) => ({
    message: `Unknown parameter: '${name2}'.`,
    param: name2,
    code: "unknown_parameter"
  }),
  wrongKind: (name2, expected, actual) => wrongType(name2, expected.map(article).join(" or "), actual)
};
var articles = {
  string: "a string",
  number: "a decimal",
  integer: "an integer",
  boolean: "a boolean",
  array: "an array",
  object: "an object",
  null: "null"
};
function article(kind) {
  return articles[kind] ?? kind;
}
function wrongType(param, expected, actual) {
  const message3 = `Invalid type for '${param}': expected ${expected}, but got ${article(actual)} instead.`;
  return { message: message3, param, code: "invalid_type" };
}
function missing(param) {
  const message3 = `Missing required parameter: '${param}'.`;
  return { message: message3, param, code: "missing_required_parameter" };
}
function wordProblem(param, value, supported) {
  if (value === void 0) return missing(param);
  if (typeof value === "string" && supported.includes(value)) return void 0;
  const names = supported.map((word) => `'${word}'`).join(", ");
  const message3 = `Invalid value: '${shown(value)}'. Supported values are: ${names}.`;
  return { message: message3, param, code: "invalid_value" };
}
var toolName2 = /^[a-zA-Z0-9_-]{1,64}$/;
function nameProblem(name2, param) {
  if (typeof name2 !== "string") return missing(param);
  if (toolName2.test(name2)) return void 0;
  const message3 = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
  return name2.length > 64 ? {
    message: `Invalid '${param}': string too long. Expected a string with maximum length 64, but got a string with length ${name2.length} instead.`,
    param,
    code: "string_above_max_length"
  } : { message: message3, param, code: "invalid_value" };
}
var ranges = [
  ["temperature", 0, 2],
  ["top_p", 0, 1],
  ["frequency_penalty", -2, 2],
  ["presence_penalty", -2, 2],
  ["n", 1, 128],
  ["max_tokens", 1, Infinity],
  ["max_completion_tokens", 1, Infinity],
  ["max_output_tokens", 16, Infinity],
  ["top_logprobs", 0, 20]
];
function rangeProblem2(body) {
  for (const [param, least, most] of ranges) {
    const value = body[param];
    if (typeof value !== "number") continue;
    const kind = Number.isInteger(least) && !/temp|top_p|penalty/.test(param) ? "integer" : "decimal";
    if (value < least) {
      const message3 = `Invalid '${param}': ${kind} below minimum value. Expected a value >= ${least}, but got ${value} instead.`;
      return { message: message3, param, code: `${kind}_below_min_value` };
    }
    if (value > most) {
      const message3 = `Invalid '${param}': ${kind} above maximum value. Expected a value <= ${most}, but got ${value} instead.`;
      return { message: message3, param, code: `${kind}_above_max_value` };
    }
  }
  return void 0;
}
function toolSettingProblem(body, toolCount) {
  for (const param of ["tool_choice", "parallel_tool_calls"]) {
    const given = body[param] !== void 0 && body[param] !== null && body[param] !== "none";
    if (given && toolCount === 0 && body["tools"] === void 0) {
      const message3 = `Invalid value for '${param}': '${param}' is only allowed when 'tools' are specified.`;
      return { message: message3, param };
    }
  }
  return void 0;
}
function params(kind, names) {
  return names.split(" ").map((name2) => [name2, kind]);
}

// ../../src/server/check-openai-chat-turns.ts
var roles2 = ["system", "assistant", "user", "function", "tool", "developer"];
function chatTurnsProblem(messages2) {
  return firstProblem(messages2, messageProblem2) ?? orderProblem2(messages2);
}
function messageProblem2(message3, index) {
  const at2 = `messages[${index}]`;
  const { role, content: content2, tool_calls, tool_call_id } = message3;
  const unknownRole = wordProblem(`${at2}.role`, role, roles2);
  if (unknownRole !== void 0) return unknownRole;
  const silent = content2 === void 0 || content2 === null;
  if (silent && (role !== "assistant" || !speaksOtherwise(message3)))
    return {
      message: `Invalid value for 'content': expected a string, got null.`,
      param: `messages.[${index}].content`
    };
  if (!silent && typeof content2 !== "string" && !Array.isArray(content2))
    return wrongType(`${at2}.content`, "a string or an array", kindOf2(content2));
  if (role === "tool" && typeof tool_call_id !== "string") return missing(`${at2}.tool_call_id`);
  if (tool_calls !== void 0 && role !== "assistant")
    return { message: `Unknown parameter: '${at2}.tool_calls'.`, param: `${at2}.tool_calls` };
  return firstProblem(objectsOf(content2), (part2, i) => partProblem2(part2, `${at2}.content[${i}]`)) ?? firstProblem(objectsOf(tool_calls), (call, i) => callProblem(call, `${at2}.tool_calls[${i}]`));
}
function speaksOtherwise({ tool_calls, function_call, refusal: refusal4, audio }) {
  return [tool_calls, function_call, refusal4, audio].some(
    (member2) => member2 !== void 0 && member2 !== null
  );
}
var partTypes = ["text", "image_url", "input_audio", "file", "refusal"];
function partProblem2(part2, at2) {
  const { type } = part2;
  if (type === "text" && typeof part2["text"] !== "string") return missing(`${at2}.text`);
  if (type === "image_url" && typeof objectOf(part2["image_url"])["url"] !== "string")
    return missing(`${at2}.image_url.url`);
  return wordProblem(`${at2}.type`, type, partTypes);
}
function callProblem(call, at2) {
  if (typeof call["id"] !== "string") return missing(`${at2}.id`);
  if (call["type"] === "custom") return void 0;
  const { name: name2, arguments: text4 } = objectOf(call["function"]);
  if (text4 === void 0) return missing(`${at2}.function.arguments`);
  if (typeof text4 !== "string")
    return wrongType(`${at2}.function.arguments`, "a string", kindOf2(text4));
  return nameProblem(name2, `${at2}.function.name`);
}
function orderProblem2(messages2) {
  let open2 = /* @__PURE__ */ new Set();
  for (const [index, message3] of messages2.entries()) {
    const param = `messages.[${index}].role`;
    if (message3["role"] === "tool") {
      if (!open2.delete(message3["tool_call_id"])) return orphan(param);
      continue;
    }
    if (open2.size > 0) return unanswered2(open2, param);
    open2 = new Set(objectsOf(message3["tool_calls"]).map((call) => call["id"]));
  }
  return open2.size > 0 ? unanswered2(open2, `messages.[${messages2.length - 1}].role`) : void 0;
}
function orphan(param) {
  const message3 = "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
  return { message: message3, param };
}
function unanswered2(ids, param) {
  const names = Array.from(ids, shown).join(", ");
  const message3 = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${names}`;
  return { message: message3, param };
}

// ../../src/server/openai-strict-schema.ts
function strictSchemaProblem(schema, place, context = []) {
  const members2 = objectOf(schema);
  const { properties, items, anyOf, $defs, definitions } = members2;
  return (members2["type"] === "object" ? objectProblem(members2, place, context) : void 0) ?? nested(objectOf(properties), place, [...context, "properties"]) ?? (kindOf2(items) === "object" ? strictSchemaProblem(items, place, [...context, "items"]) : void 0) ?? firstProblem(
    objectsOf(anyOf),
    (option, index) => strictSchemaProblem(option, place, [...context, "anyOf", String(index)])
  ) ?? nested(objectOf($defs ?? definitions), place, [...context, "$defs"]);
}
function nested(schemas, place, context) {
  return firstProblem(
    Object.entries(schemas),
    ([name2, schema]) => strictSchemaProblem(schema, place, [...context, name2])
  );
}
function objectProblem(schema, { of, param, code }, context) {
  const where = context.length === 0 ? "()" : `(${context.map((name2) => `'${name2}'`).join(", ")})`;
  const say2 = (rule) => ({
    message: `Invalid schema for ${of}: In context=${where}, ${rule}`,
    param,
    code
  });
  if (schema["additionalProperties"] !== false)
    return say2("'additionalProperties' is required to be supplied and to be false.");
  const required2 = Array.isArray(schema["required"]) ? schema["required"] : [];
  const left = Object.keys(objectOf(schema["properties"])).find((name2) => !required2.includes(name2));
  return left === void 0 ? void 0 : say2(
    `'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`
  );
}

// ../../src/server/check-openai-chat.ts
var table2 = Object.fromEntries([
  ...params(["array"], "messages tools functions modalities"),
  ...params(["string"], "model reasoning_effort verbosity service_tier user safety_identifier"),
  ...params(["string"], "prompt_cache_key prompt_cache_retention"),
  ...params(["number"], "temperature top_p frequency_penalty presence_penalty"),
  ...params(["integer"], "max_tokens max_completion_tokens n seed top_logprobs"),
  ...params(["boolean"], "stream store logprobs parallel_tool_calls"),
  ...params(["object"], "metadata stream_options response_format logit_bias audio prediction"),
  ...params(["object"], "web_search_options prompt_cache_options moderation"),
  ...params(["string", "array"], "stop"),
  ...params(["string", "object"], "tool_choice function_call")
]);
function checkOpenaiChat(body) {
  const { messages: messages2, stream, stream_options } = body;
  const tools3 = objectsOf(body["tools"]);
  return paramProblem(body, table2, openaiWords) ?? unsupportedProblem(body) ?? (body["model"] === void 0 ? missing("model") : void 0) ?? messagesProblem(messages2) ?? rangeProblem2(body) ?? firstProblem(tools3, toolProblem3) ?? toolSettingProblem(body, tools3.length) ?? choiceProblem2(body["tool_choice"], tools3) ?? (stream_options !== void 0 && stream_options !== null && stream !== true ? {
    message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    param: "stream_options"
  } : void 0) ?? formatProblem(objectOf(body["response_format"]));
}
function unsupportedProblem({ model, max_tokens }) {
  const limited = max_tokens !== void 0 && max_tokens !== null;
  if (!limited || !/^(?:o\d|gpt-[5-9])/.test(shown(model))) return void 0;
  const message3 = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  return { message: message3, param: "max_tokens", code: "unsupported_parameter" };
}
function messagesProblem(messages2) {
  if (messages2 === void 0 || messages2 === null) return missing("messages");
  const list = objectsOf(messages2);
  if (list.length > 0) return chatTurnsProblem(list);
  const message3 = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
  return { message: message3, param: "messages", code: "empty_array" };
}
function toolProblem3(tool2, index) {
  const at2 = `tools[${index}]`;
  if (tool2["type"] !== "function")
    return wordProblem(`${at2}.type`, tool2["type"], ["function", "custom"]);
  if (tool2["function"] === void 0) return missing(`${at2}.function`);
  const { name: name2, parameters, description, strict } = objectOf(tool2["function"]);
  if (description !== void 0 && typeof description !== "string" && description !== null)
    return wrongType(`${at2}.function.description`, "a string", kindOf2(description));
  if (parameters !== void 0 && kindOf2(parameters) !== "object" && parameters !== null)
    return wrongType(`${at2}.function.parameters`, "an object", kindOf2(parameters));
  const misnamed = nameProblem(name2, `${at2}.function.name`);
  if (misnamed !== void 0 || strict !== true) return misnamed;
  return strictSchemaProblem(parameters, {
    of: `function '${shown(name2)}'`,
    param: `${at2}.function.parameters`,
    code: "invalid_function_parameters"
  });
}
function choiceProblem2(choice, tools3) {
  if (typeof choice === "string")
    return wordProblem("tool_choice", choice, ["none", "auto", "required"]);
  const { type, function: named3 } = objectOf(choice);
  if (type !== "function") return void 0;
  const { name: name2 } = objectOf(named3);
  if (tools3.some((tool2) => objectOf(tool2["function"])["name"] === name2)) return void 0;
  const message3 = `Tool choice 'function' not found in 'tools' parameter: '${shown(name2)}'.`;
  return { message: message3, param: "tool_choice" };
}
function formatProblem(format) {
  const types = ["text", "json_object", "json_schema"];
  const { type } = format;
  if (type === void 0) return void 0;
  if (type !== "json_schema") return wordProblem("response_format.type", type, types);
  const at2 = "response_format.json_schema";
  if (format["json_schema"] === void 0) return missing(at2);
  const { name: name2, schema, strict } = objectOf(format["json_schema"]);
  if (schema === void 0) return missing(`${at2}.schema`);
  const misnamed = nameProblem(name2, `${at2}.name`);
  if (misnamed !== void 0 || strict !== true) return misnamed;
  const of = `response_format '${shown(name2)}'`;
  return strictSchemaProblem(schema, { of, param: "response_format", code: "invalid_json_schema" });
}

// ../../src/server/check-openai-responses-input.ts
var roles3 = ["assistant", "system", "developer", "user"];
function responsesInputProblem(items, remembered2) {
  return firstProblem(items, itemProblem) ?? (remembered2 ? void 0 : callsProblem(items));
}
function itemProblem(item, index) {
  const { type = "message" } = item;
  return itemChecks[shown(type)]?.(item, `input[${index}]`);
}
var itemChecks = {
  message: messageProblem3,
  function_call: callProblem2,
  function_call_output({ call_id, output }, at2) {
    if (typeof call_id !== "string") return missing(`${at2}.call_id`);
    return output === void 0 ? missing(`${at2}.output`) : void 0;
  },
  reasoning: ({ summary }, at2) => Array.isArray(summary) ? void 0 : missing(`${at2}.summary`)
};
function messageProblem3(item, at2) {
  const { role, content: content2 } = item;
  const unknownRole = wordProblem(`${at2}.role`, role, roles3);
  if (unknownRole !== void 0) return unknownRole;
  if (content2 === void 0) return missing(`${at2}.content`);
  if (typeof content2 !== "string" && !Array.isArray(content2))
    return wrongType(`${at2}.content`, "a string or an array", kindOf2(content2));
  const types = role === "assistant" ? outputTypes : inputTypes;
  return firstProblem(
    objectsOf(content2),
    (part2, i) => wordProblem(`${at2}.content[${i}]`, part2["type"], types)
  );
}
var inputTypes = ["input_text", "input_image", "input_file", "input_audio"];
var outputTypes = ["output_text", "refusal"];
function callProblem2(item, at2) {
  const { call_id, name: name2, arguments: text4 } = item;
  if (typeof call_id !== "string") return missing(`${at2}.call_id`);
  if (text4 === void 0) return missing(`${at2}.arguments`);
  if (typeof text4 !== "string") return wrongType(`${at2}.arguments`, "a string", kindOf2(text4));
  return nameProblem(name2, `${at2}.name`);
}
function callsProblem(items) {
  const open2 = /* @__PURE__ */ new Set();
  const known2 = /* @__PURE__ */ new Set();
  for (const { type, call_id } of items) {
    const id = shown(call_id);
    if (type === "function_call") {
      open2.add(id);
      known2.add(id);
    }
    if (type !== "function_call_output") continue;
    if (!known2.has(id)) {
      const message3 = `No tool call found for function call output with call_id ${id}.`;
      return { message: message3, param: "input" };
    }
    open2.delete(id);
  }
  const [first2] = open2;
  if (first2 === void 0) return void 0;
  return { message: `No tool output found for function call ${first2}.`, param: "input" };
}

// ../../src/server/check-openai-responses.ts
var table3 = Object.fromEntries([
  ...params(["string"], "model previous_response_id service_tier truncation user"),
  ...params(["string"], "safety_identifier prompt_cache_key prompt_cache_retention"),
  ...params(["string", "array"], "input instructions"),
  ...params(["array"], "tools include context_management"),
  ...params(["number"], "temperature top_p"),
  ...params(["integer"], "max_output_tokens max_tool_calls top_logprobs"),
  ...params(["boolean"], "stream store background parallel_tool_calls"),
  ...params(["object"], "metadata text reasoning prompt stream_options prompt_cache_options"),
  ...params(["object"], "moderation"),
  ...params(["string", "object"], "tool_choice conversation")
]);
function checkOpenaiResponses(body) {
  const tools3 = objectsOf(body["tools"]);
  return paramProblem(body, table3, openaiWords) ?? (body["model"] === void 0 && body["prompt"] === void 0 ? missing("model") : void 0) ?? inputProblem(body) ?? rangeProblem2(body) ?? firstProblem(tools3, toolProblem4) ?? toolSettingProblem(body, tools3.length) ?? choiceProblem3(body["tool_choice"], tools3) ?? formatProblem2(objectOf(objectOf(body["text"])["format"]));
}
function inputProblem(body) {
  const { input } = body;
  const remembered2 = ["previous_response_id", "conversation", "prompt"].some(
    (name2) => body[name2] !== void 0 && body[name2] !== null
  );
  if (input === void 0 || input === null) return remembered2 ? void 0 : missing("input");
  return Array.isArray(input) ? responsesInputProblem(objectsOf(input), remembered2) : void 0;
}
function toolProblem4(tool2, index) {
  const at2 = `tools[${index}]`;
  const { type, name: name2, parameters, strict } = tool2;
  if (type === void 0) return missing(`${at2}.type`);
  if (type !== "function") return void 0;
  if (parameters !== void 0 && parameters !== null && kindOf2(parameters) !== "object")
    return wrongType(`${at2}.parameters`, "an object", kindOf2(parameters));
  const misnamed = nameProblem(name2, `${at2}.name`);
  if (misnamed !== void 0 || strict !== true) return misnamed;
  return strictSchemaProblem(parameters, {
    of: `function '${shown(name2)}'`,
    param: `${at2}.parameters`,
    code: "invalid_function_parameters"
  });
}
function choiceProblem3(choice, tools3) {
  if (typeof choice === "string")
    return wordProblem("tool_choice", choice, ["none", "auto", "required"]);
  const { type, name: name2 } = objectOf(choice);
  if (type !== "function" || tools3.some((tool2) => tool2["name"] === name2)) return void 0;
  const message3 = `Tool choice 'function' not found in 'tools' parameter: '${shown(name2)}'.`;
  return { message: message3, param: "tool_choice" };
}
function formatProblem2(format) {
  const types = ["text", "json_object", "json_schema", "grammar", "python"];
  const { type, name: name2, schema, strict } = format;
  if (type === void 0) return void 0;
  if (type !== "json_schema") return wordProblem("text.format.type", type, types);
  if (schema === void 0) return missing("text.format.schema");
  const misnamed = nameProblem(name2, "text.format.name");
  if (misnamed !== void 0 || strict !== true) return misnamed;
  const of = `response_format '${shown(name2)}'`;
  return strictSchemaProblem(schema, {
    of,
    param: "text.format.schema",
    code: "invalid_json_schema"
  });
}

// ../../src/server/check-request.ts
function checkRequest2(format, body, headers) {
  switch (format) {
    case "openai_chat":
      return checkOpenaiChat(body);
    case "openai_responses":
      return checkOpenaiResponses(body);
    case "anthropic":
      if (headers["anthropic-version"] === void 0)
        return { message: "anthropic-version: header is required" };
      return checkAnthropic(body, headers["anthropic-beta"] !== void 0);
    case "gemini":
      return checkGemini(body);
    default:
      return assertNever(format);
  }
}
function unreadable2(format) {
  switch (format) {
    case "openai_chat":
    case "openai_responses":
      return { message: "We could not parse the JSON body of your request." };
    case "anthropic":
      return { message: "The request body is not valid JSON" };
    case "gemini":
      return { message: "Invalid JSON payload received. Expected an object." };
    default:
      return assertNever(format);
  }
}

// ../../src/wire/render-images.ts
function renderImages(provider2, outcome2, options) {
  const settled2 = { ...options, stream: false, includeUsage: true, framing: "sse" };
  if (provider2 === "openai" && "images" in outcome2) return openaiImages(outcome2, settled2);
  const plan = "images" in outcome2 ? imagePlan(outcome2) : refusedPlan(outcome2.failure);
  return renderPlan(provider2 === "openai" ? "openai_chat" : "gemini", plan, settled2);
}
function refusedPlan(failure2) {
  return { blocks: [], steps: [], end: { type: "refused", failure: failure2 } };
}
function imagePlan({ images: images2, usage: usage2 }) {
  const { inputTokens, outputTokens, totalTokens } = usage2 ?? {};
  const counted = defined({ inputTokens, outputTokens, totalTokens });
  return defined({
    blocks: images2.map((image2) => ({ type: "image", text: "", image: image2 })),
    steps: [],
    usage: Object.keys(counted).length === 0 ? void 0 : counted,
    end: { type: "finished", reason: "stop" }
  });
}
function openaiImages({ images: images2, usage: usage2 }, options) {
  const body = {
    created: options.created,
    data: images2.map(imageItem),
    ...outputFacts(images2, usage2),
    ...tokens2(usage2)
  };
  return {
    status: 200,
    headers: { ...openaiHeaders(options.requestId), "content-type": "application/json" },
    frames: [{ bytes: new TextEncoder().encode(JSON.stringify(body)) }],
    end: "normal"
  };
}
function imageItem(image2) {
  const { revisedPrompt } = image2;
  const content2 = image2.type === "base64" ? { b64_json: image2.base64 } : { url: image2.type === "url" ? image2.url : `file://${image2.path}` };
  return revisedPrompt === void 0 ? content2 : { ...content2, revised_prompt: revisedPrompt };
}
function outputFacts(images2, usage2) {
  const { mimeType, width, height } = images2[0] ?? {};
  const drawn = width === void 0 || height === void 0 ? void 0 : `${width}x${height}`;
  const size = usage2?.size ?? drawn;
  return {
    ...mimeType === void 0 ? {} : { output_format: mimeType.replace("image/", "") },
    ...size === void 0 ? {} : { size },
    ...usage2?.quality === void 0 ? {} : { quality: usage2.quality }
  };
}
function tokens2(usage2) {
  const { inputTokens, outputTokens, totalTokens, extra } = usage2 ?? {};
  if (inputTokens === void 0 && outputTokens === void 0 && totalTokens === void 0)
    return {};
  const total2 = totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0);
  return {
    usage: {
      input_tokens: inputTokens ?? 0,
      input_tokens_details: { text_tokens: inputTokens ?? 0, image_tokens: 0 },
      output_tokens: outputTokens ?? 0,
      total_tokens: total2,
      ...extra
    }
  };
}

// ../../src/server/image-answers.ts
async function imageAnswer(provider2, drawer, call) {
  const facts2 = { ...call, id: `fake-${call.requestId}`, created: wireEpoch };
  return renderImages(provider2, await outcomeOf(drawer, call.requestId), facts2);
}
var anyRequest = {
  operation: "generate",
  n: 1,
  responseFormat: "base64",
  inputImages: [],
  providerOptions: {},
  metadata: {}
};
async function outcomeOf(drawer, requestId) {
  try {
    const { images: images2, usage: usage2 } = await drawer.generate(anyRequest, { requestId });
    return { images: images2, usage: usage2 };
  } catch (error) {
    if (!isAllmError(error)) throw error;
    const { reason, message: message3, metadata: metadata2, ...facts2 } = error.toJSON();
    if (metadata2?.["cause"] === "no_scripted_image")
      return { failure: { reason: "no_scripted_response", message: message3 } };
    const known2 = reason === "unsupported_operation" ? "invalid_request" : reason;
    return { failure: failureOf3(known2, { ...facts2, message: message3 }) };
  }
}

// ../../src/server/read-body.ts
var maxBodyBytes = 64 * 1024 * 1024;
function readBody(request2, onBody) {
  const chunks = [];
  let size = 0;
  request2.on("data", (chunk) => {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  });
  request2.on("end", () => {
    const [first2, second] = chunks;
    if (size > maxBodyBytes) onBody(void 0);
    else onBody(second === void 0 && first2 !== void 0 ? first2 : Buffer.concat(chunks));
  });
}
function parseJson3(bytes) {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return void 0;
  }
}
async function parseForm(bytes, contentType) {
  let form;
  try {
    form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
  } catch {
    return void 0;
  }
  const fields = {};
  for (const key of new Set(form.keys())) {
    const name2 = key.replace(/\[\]$/, "");
    const values = form.getAll(key).map(
      (value) => typeof value === "string" ? value : { filename: value.name, contentType: value.type, size: value.size }
    );
    fields[name2] = values.length === 1 && name2 === key ? values[0] ?? "" : values;
  }
  return fields;
}

// ../../src/server/refuse.ts
var formats3 = {
  openai: "openai_chat",
  anthropic: "anthropic",
  gemini: "gemini"
};
function refuse3(provider2, failure2, requestId) {
  const plan = { blocks: [], steps: [], end: { type: "refused", failure: failure2 } };
  return renderPlan(formats3[provider2], plan, {
    id: "",
    model: "",
    created: 0,
    requestId,
    stream: false,
    includeUsage: false,
    framing: "sse"
  });
}
function refuseRequest(provider2, { message: message3, param, code }, requestId) {
  const answer2 = refuse3(provider2, { reason: "invalid_request", message: message3, status: 400 }, requestId);
  if (provider2 !== "openai") return answer2;
  const error = { message: message3, type: "invalid_request_error", param: param ?? null, code: code ?? null };
  return { ...answer2, frames: [{ bytes: jsonBytes({ error }) }] };
}
function refuseWithoutKey(provider2, requestId) {
  const message3 = {
    openai: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    anthropic: "x-api-key header is required",
    gemini: "Request is missing required authentication credential."
  }[provider2];
  return refuse3(provider2, { reason: "authentication_failed", message: message3, status: 401 }, requestId);
}
function refuseAddress(provider2, status2, address, requestId) {
  const message3 = status2 === 404 ? `Invalid URL (${address})` : `Method not allowed for this URL (${address})`;
  return refuse3(provider2, { reason: "invalid_request", message: message3, status: status2 }, requestId);
}
function refuseExhausted(provider2, scriptCount, requestId) {
  const scripts = scriptCount === 1 ? "1 script" : `${scriptCount} scripts`;
  const message3 = `no_scripted_response: no scripted response is left; the server has ${scripts} and all were played`;
  return refuse3(provider2, { reason: "no_scripted_response", message: message3 }, requestId);
}
function refuseByFault(provider2, fault2, requestId) {
  const { status: status2, message: message3, retryAfterMs: retryAfterMs2 } = fault2;
  return refuse3(
    provider2,
    {
      reason: reasonOf4(status2),
      status: status2,
      ...message3 === void 0 ? {} : { message: message3 },
      ...retryAfterMs2 === void 0 ? {} : { retryAfterMs: retryAfterMs2 }
    },
    requestId
  );
}
function reasonOf4(status2) {
  if (status2 === 401 || status2 === 403) return "authentication_failed";
  if (status2 === 429) return "rate_limited";
  return status2 >= 500 ? "provider_unavailable" : "invalid_request";
}
function jsonAnswer(body) {
  const headers = { "content-type": "application/json" };
  return { status: 200, headers, frames: [{ bytes: jsonBytes(body) }], end: "normal" };
}
function jsonBytes(body) {
  return Buffer.from(JSON.stringify(body));
}

// ../../src/server/faults.ts
function faultOf(call, faults, failures2) {
  const listed2 = faults[call];
  if (listed2 !== void 0 && listed2 !== null) return listed2;
  return failures2 === void 0 ? void 0 : chance(call, failures2);
}
function chance(call, failures2) {
  const random = seededRandom(failures2.seed + Math.imul(call + 1, 2654435761));
  const [draw429, draw5xx, drawSlow, drawCut, drawMalformed, choice, part2] = [
    random(),
    random(),
    random(),
    random(),
    random(),
    random(),
    random()
  ];
  const { rate429 = 0, rate5xx = 0, retryAfterMs: retryAfterMs2 = 1e3 } = failures2;
  if (draw429 < rate429) return { status: 429, retryAfterMs: retryAfterMs2 };
  if (draw5xx < rate5xx) return { status: choice < 0.5 ? 500 : 503 };
  const { slowMs, rateSlow = 1, cutAfter, rateCut = 1, malformedAt, rateMalformed = 1 } = failures2;
  const fault2 = {
    slowMs: slowMs !== void 0 && drawSlow < rateSlow ? Math.ceil(part2 * slowMs) : void 0,
    cutAfter: cutAfter !== void 0 && drawCut < rateCut ? 1 + Math.floor(choice * cutAfter) : void 0,
    malformedAt: drawMalformed < rateMalformed ? malformedAt : void 0
  };
  return Object.values(fault2).every((value) => value === void 0) ? void 0 : fault2;
}

// ../../src/server/server-state.ts
function nextFault(state) {
  const { faults = [], failures: failures2 } = state.options;
  return faultOf(state.calls++, faults, failures2);
}

// ../../src/server/answer-chat.ts
function answerChat(state, route, incoming) {
  const { format, provider: provider2 } = route;
  const { requestId } = incoming;
  const parsed = parseJson3(incoming.bytes ?? Buffer.alloc(0));
  if (kindOf2(parsed) !== "object") {
    const answer3 = prepareAnswer(refuseRequest(provider2, unreadable2(format), requestId));
    return parsed === void 0 ? { answer: answer3, format } : { answer: answer3, format, body: parsed };
  }
  const body = objectOf(parsed);
  const problem = state.options.validateRequests === false ? void 0 : checkRequest2(format, body, incoming.headers);
  const answer2 = problem === void 0 ? play(state, route, incoming, body) : prepareAnswer(refuseRequest(provider2, problem, requestId));
  return answer2 instanceof Promise ? answer2.then((drawn) => ({ answer: drawn, format, body })) : { answer: answer2, format, body };
}
function play(state, route, { key, requestId }, body) {
  const { format, provider: provider2, framing } = route;
  const fault2 = nextFault(state);
  const { status: status2 } = fault2 ?? {};
  if (status2 !== void 0)
    return prepareAnswer(refuseByFault(provider2, { ...fault2, status: status2 }, requestId));
  const model = route.model ?? text3(body["model"]);
  if (drawsImages(route, body) && state.options.images !== void 0) {
    const drawn = imageAnswer("gemini", state.source.imagesOf(key), { model, requestId });
    return drawn.then((answer2) => prepareAnswer(applyFault(answer2, fault2)));
  }
  const taken = state.source.take(key);
  if (taken === void 0)
    return prepareAnswer(refuseExhausted(provider2, state.source.size, requestId));
  const ask = {
    format,
    framing,
    model,
    requestId,
    stream: route.stream ?? body["stream"] === true,
    includeUsage: objectOf(body["stream_options"])["include_usage"] === true
  };
  return state.answers.answer(taken, ask, fault2);
}
function drawsImages({ provider: provider2 }, body) {
  if (provider2 !== "gemini") return false;
  const config = objectOf(body["generationConfig"] ?? body["generation_config"]);
  const modalities = config["responseModalities"] ?? config["response_modalities"];
  return Array.isArray(modalities) && modalities.includes("IMAGE");
}
function text3(value) {
  return typeof value === "string" ? value : "";
}

// ../../src/server/check-images.ts
var shared2 = [
  ...params([], "n output_compression partial_images stream"),
  ...params(["string"], "prompt model quality response_format output_format size"),
  ...params(["string"], "background user")
];
var tables = {
  generate: Object.fromEntries([
    ...shared2,
    ...params(["string"], "moderation style"),
    ...params(["integer"], "n output_compression partial_images"),
    ...params(["boolean"], "stream")
  ]),
  edit: Object.fromEntries([...shared2, ...params([], "image images mask input_fidelity")]),
  variation: Object.fromEntries([...shared2, ...params([], "image")])
};
function checkImages(operation, body) {
  const image2 = body["image"] ?? body["images"];
  return paramProblem(body, tables[operation], openaiWords) ?? (operation !== "variation" && body["prompt"] === void 0 ? missing("prompt") : void 0) ?? (operation !== "generate" && image2 === void 0 ? missing("image") : void 0);
}

// ../../src/server/answer-images.ts
async function answerImages(state, route, incoming) {
  const { requestId } = incoming;
  const body = await bodyOf(incoming);
  if (body === void 0) {
    const message3 = "We could not parse the body of your request.";
    return { answer: prepareAnswer(refuseRequest("openai", { message: message3 }, requestId)) };
  }
  const problem = state.options.validateRequests === false ? void 0 : checkImages(route.operation, body);
  const answer2 = problem === void 0 ? await play2(state, incoming, body) : prepareAnswer(refuseRequest("openai", problem, requestId));
  return { answer: answer2, body };
}
async function bodyOf({ headers, bytes }) {
  const contentType = headers["content-type"] ?? "";
  const content2 = bytes ?? Buffer.alloc(0);
  if (contentType.startsWith("multipart/form-data")) return parseForm(content2, contentType);
  const value = parseJson3(content2);
  return kindOf2(value) === "object" ? objectOf(value) : void 0;
}
async function play2(state, incoming, body) {
  const { key, requestId } = incoming;
  const fault2 = nextFault(state);
  const { status: status2 } = fault2 ?? {};
  if (status2 !== void 0)
    return prepareAnswer(refuseByFault("openai", { ...fault2, status: status2 }, requestId));
  const { model } = body;
  const call = { model: typeof model === "string" ? model : "", requestId };
  const drawn = await imageAnswer("openai", state.source.imagesOf(key), call);
  return prepareAnswer(applyFault(drawn, fault2));
}

// ../../src/server/models-list.ts
var createdAt = new Date(wireEpoch * 1e3).toISOString();
var defaultModels = {
  openai: ["gpt-5", "gpt-4o-mini", "gpt-image-1"],
  anthropic: ["claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"],
  gemini: ["gemini-2.5-flash", "gemini-2.5-pro", "gemini-2.5-flash-image"]
};
function modelsList(provider2, names) {
  const models = names.map((name2) => modelEntry(provider2, name2));
  switch (provider2) {
    case "openai":
      return { object: "list", data: models };
    case "anthropic":
      return {
        data: models,
        has_more: false,
        first_id: names[0] ?? null,
        last_id: names.at(-1) ?? null
      };
    case "gemini":
      return { models };
    default:
      return assertNever(provider2);
  }
}
function modelEntry(provider2, name2) {
  switch (provider2) {
    case "openai":
      return { id: name2, object: "model", created: wireEpoch, owned_by: "allm" };
    case "anthropic":
      return { type: "model", id: name2, display_name: name2, created_at: createdAt };
    case "gemini":
      return {
        name: `models/${name2.replace(/^models\//, "")}`,
        version: "001",
        displayName: name2,
        inputTokenLimit: 1048576,
        outputTokenLimit: 65536,
        supportedGenerationMethods: ["generateContent", "countTokens"]
      };
    default:
      return assertNever(provider2);
  }
}

// ../../src/server/answer-request.ts
function answerRequest(state, route, incoming) {
  const { key, requestId, method, url } = incoming;
  const { provider: provider2 } = route;
  if (route.type === "unknown") {
    const path = url.replace(/\?.*$/, "");
    const answer2 = refuseAddress(provider2, route.status, `${method} ${path}`, requestId);
    return { answer: prepareAnswer(answer2) };
  }
  if (key === void 0 && state.options.requireKey !== false)
    return { answer: prepareAnswer(refuseWithoutKey(provider2, requestId)) };
  if (incoming.bytes === void 0) {
    const failure2 = {
      reason: "invalid_request",
      status: 413,
      message: "Request too large"
    };
    return { answer: prepareAnswer(refuse3(provider2, failure2, requestId)) };
  }
  switch (route.type) {
    case "chat":
      return answerChat(state, route, incoming);
    case "images":
      return answerImages(state, route, incoming);
    case "models":
      return { answer: prepareAnswer(answerModels(state, route, requestId)) };
    default:
      return assertNever(route);
  }
}
function answerModels({ options }, { provider: provider2, model }, requestId) {
  const names = options.models ?? defaultModels[provider2];
  if (model === void 0) return jsonAnswer(modelsList(provider2, names));
  if (options.models === void 0 || names.includes(model))
    return jsonAnswer(modelEntry(provider2, model));
  const message3 = provider2 === "anthropic" ? `model: ${model}` : `The model '${model}' does not exist`;
  return refuse3(provider2, { reason: "invalid_request", status: 404, message: message3 }, requestId);
}

// ../../src/server/api-key.ts
function apiKeyOf(provider2, headers, url) {
  const [, bearer] = /^Bearer\s+(\S+)/i.exec(headers.authorization ?? "") ?? [];
  switch (provider2) {
    case "openai":
      return bearer;
    case "anthropic":
      return headerText(headers["x-api-key"]) ?? bearer;
    case "gemini": {
      const [, inAddress] = /[?&]key=([^&]+)/.exec(url) ?? [];
      return headerText(headers["x-goog-api-key"]) ?? inAddress ?? bearer;
    }
    default:
      return assertNever(provider2);
  }
}
function headerText(value) {
  const text4 = typeof value === "string" ? value : value?.[0];
  return text4 === "" ? void 0 : text4;
}
var keyHeaders2 = /* @__PURE__ */ new Set([
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "x-goog-api-key",
  "api-key",
  "cookie"
]);
function headersWithoutKeys(headers) {
  const kept = {};
  for (const [name2, value] of Object.entries(headers)) {
    if (value !== void 0 && !keyHeaders2.has(name2))
      kept[name2] = typeof value === "string" ? value : value.join(", ");
  }
  return kept;
}
function pathWithoutKey(url) {
  if (!url.includes("key=")) return url;
  return url.replace(
    /([?&])key=[^&]*(&|$)/,
    (_, lead, tail) => tail === "&" ? lead : ""
  );
}

// ../../src/server/route.ts
var posts = {
  "/v1/chat/completions": {
    type: "chat",
    provider: "openai",
    format: "openai_chat",
    framing: "sse"
  },
  "/v1/responses": {
    type: "chat",
    provider: "openai",
    format: "openai_responses",
    framing: "sse"
  },
  "/v1/messages": { type: "chat", provider: "anthropic", format: "anthropic", framing: "sse" },
  "/v1/images/generations": { type: "images", provider: "openai", operation: "generate" },
  "/v1/images/edits": { type: "images", provider: "openai", operation: "edit" },
  "/v1/images/variations": { type: "images", provider: "openai", operation: "variation" }
};
function routeOf(method, url, headers) {
  const query = url.indexOf("?");
  const path = query === -1 ? url : url.slice(0, query);
  const known2 = Object.hasOwn(posts, path) ? posts[path] : void 0;
  if (known2 !== void 0) return method === "POST" ? known2 : refusedMethod(known2.provider);
  return geminiRoute(method, path, query === -1 ? "" : url.slice(query)) ?? modelsRoute(method, path, headers) ?? {
    type: "unknown",
    provider: providerOf(path, headers),
    status: 404
  };
}
var generate3 = /^\/v1(?:beta|alpha)?\/(?:models|tunedModels)\/(.+):(generateContent|streamGenerateContent)$/;
function geminiRoute(method, path, query) {
  const [, model, action] = generate3.exec(path) ?? [];
  if (model === void 0) return void 0;
  if (method !== "POST") return refusedMethod("gemini");
  return {
    type: "chat",
    provider: "gemini",
    format: "gemini",
    model: decode2(model),
    stream: action === "streamGenerateContent",
    framing: /[?&]alt=sse(?:&|$)/.test(query) ? "sse" : "json_array"
  };
}
function modelsRoute(method, path, headers) {
  const [, model] = /^\/v1(?:beta|alpha)?\/models(?:\/(.+))?$/.exec(path) ?? [void 0, null];
  if (model === null) return void 0;
  const provider2 = providerOf(path, headers);
  if (method !== "GET") return refusedMethod(provider2);
  return model === void 0 ? { type: "models", provider: provider2 } : { type: "models", provider: provider2, model: decode2(model) };
}
function providerOf(path, headers) {
  if (/^\/v1(?:beta|alpha)\//.test(path) || "x-goog-api-key" in headers) return "gemini";
  return "anthropic-version" in headers || "x-api-key" in headers ? "anthropic" : "openai";
}
function refusedMethod(provider2) {
  return { type: "unknown", provider: provider2, status: 405 };
}
function decode2(text4) {
  try {
    return decodeURIComponent(text4);
  } catch {
    return text4;
  }
}

// ../../src/server/send-answer.ts
import { setImmediate } from "node:timers/promises";
function sendAnswer(response2, answer2, options) {
  const { status: status2, headers, writes, end: end2 } = answer2;
  const [first2, second] = writes;
  if (status2 > 0 && end2 === "normal" && second === void 0 && (first2?.delayMs ?? 0) === 0) {
    response2.writeHead(status2, headers);
    response2.end(first2?.bytes);
    return void 0;
  }
  return sendSlowly(response2, answer2, options);
}
async function sendSlowly(response2, { status: status2, headers, writes, end: end2 }, options) {
  const gone = new AbortController();
  const leave2 = () => gone.abort(new Error("the connection was closed"));
  response2.once("close", leave2);
  options.signal.addEventListener("abort", leave2, { once: true });
  try {
    for (const [index, write2] of writes.entries()) {
      await writeAfterWait(response2, write2, gone.signal, {
        ...options,
        head: index === 0 ? () => response2.writeHead(status2, headers) : void 0
      });
    }
    if (end2 === "normal") response2.end();
    else if (end2 === "cut") response2.destroy();
    else await silence2(gone.signal);
  } catch {
    response2.destroy();
  } finally {
    response2.off("close", leave2);
    options.signal.removeEventListener("abort", leave2);
  }
}
async function writeAfterWait(response2, { bytes, delayMs: delayMs2 }, gone, { clock, pieces, head }) {
  if (delayMs2 > 0) await clock.sleep(delayMs2, gone);
  if (pieces) await setImmediate();
  gone.throwIfAborted();
  head?.();
  await new Promise((resolve, reject) => {
    const leave2 = () => reject(new Error("the connection was closed"));
    gone.addEventListener("abort", leave2, { once: true });
    response2.write(bytes, (error) => {
      gone.removeEventListener("abort", leave2);
      if (error) reject(error);
      else resolve();
    });
  });
}
function silence2(gone) {
  return new Promise((_, reject) => {
    const leave2 = () => reject(new Error("the connection was closed"));
    if (gone.aborted) leave2();
    gone.addEventListener("abort", leave2, { once: true });
  });
}

// ../../src/server/request-handler.ts
function requestHandler(state, log, sending) {
  let count4 = 0;
  const open2 = /* @__PURE__ */ new Set();
  const settle2 = (incoming, decision, response2) => {
    log.add(recorded(incoming, decision));
    const sent = sendAnswer(response2, decision.answer, sending);
    if (sent === void 0) return;
    const over2 = sent.then(() => {
      open2.delete(over2);
    });
    open2.add(over2);
  };
  return {
    open: open2,
    handle(request2, response2) {
      const number2 = ++count4;
      const { method = "GET", url = "/", headers } = request2;
      const route = routeOf(method, url, headers);
      const key = apiKeyOf(route.provider, headers, url);
      const requestId = `req_fake_${number2}`;
      readBody(request2, (bytes) => {
        const incoming = { number: number2, method, url, headers, bytes, key, requestId };
        const decision = decide(state, route, incoming);
        if (!(decision instanceof Promise)) {
          settle2(incoming, decision, response2);
          return;
        }
        decision.then(
          (later) => settle2(incoming, later, response2),
          (error) => settle2(incoming, broken(route.provider, error, requestId), response2)
        );
      });
    }
  };
}
function decide(state, route, incoming) {
  try {
    return answerRequest(state, route, incoming);
  } catch (error) {
    return broken(route.provider, error, incoming.requestId);
  }
}
function broken(provider2, error, requestId) {
  const message3 = `the fake server failed: ${error instanceof Error ? error.message : String(error)}`;
  const failure2 = { reason: "no_scripted_response", status: 500, message: message3 };
  return { answer: prepareAnswer(refuse3(provider2, failure2, requestId)) };
}
function recorded(incoming, { answer: answer2, body, format }) {
  const { number: number2, method, url, headers } = incoming;
  return defined({
    number: number2,
    method,
    path: pathWithoutKey(url),
    headers: headersWithoutKeys(headers),
    body,
    format,
    status: answer2.status
  });
}

// ../../src/server/request-log.ts
function requestLog(limit) {
  const requests = [];
  return {
    requests,
    add(request2) {
      requests.push(request2);
      if (requests.length >= limit * 2) requests.splice(0, requests.length - limit);
    }
  };
}

// ../../src/server/script-source.ts
function scriptSource({ scripts, images: images2, repeat, perKey }) {
  const cursors = /* @__PURE__ */ new Map();
  const drawers = /* @__PURE__ */ new Map();
  const nameOf = (key) => perKey ? key ?? "" : "";
  return {
    size: scripts.length,
    take(key) {
      const cursor = made(cursors, nameOf(key), createScriptCursor);
      const index = repeat && scripts.length > 0 ? cursor.index % scripts.length : cursor.index;
      cursor.advance();
      const script = scripts[index];
      return script === void 0 ? void 0 : { script, index };
    },
    imagesOf: (key) => made(drawers, nameOf(key), () => fakeImages({ script: images2 })),
    get remaining() {
      const played = Array.from(cursors.values(), ({ index }) => index);
      const least = played.length === 0 ? 0 : Math.min(...played);
      return Math.max(0, scripts.length - least);
    }
  };
}
function made(values, name2, make) {
  const value = values.get(name2) ?? make();
  values.set(name2, value);
  return value;
}

// ../../src/server/create-fake-server.ts
async function createFakeServer(options = {}) {
  checkFakeServerOptions(options);
  const { script, scripts = script === void 0 ? [] : [script] } = options;
  const source = scriptSource({
    scripts,
    images: options.images ?? [],
    repeat: options.repeat ?? false,
    perKey: options.cursor === "per_key"
  });
  const state = {
    options,
    source,
    answers: chatAnswers(options.chunking),
    calls: 0
  };
  const log = requestLog(options.requestLimit ?? 1e4);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const handler = requestHandler(state, log, {
    clock: options.clock ?? systemClock,
    signal: closing.signal,
    pieces: options.chunking !== void 0
  });
  const server = createServer((request2, response2) => handler.handle(request2, response2));
  await listen(server, options);
  return fakeServer(server, { handler, log, source, closing });
}
function fakeServer(server, { handler, log, source, closing }) {
  const { port, address } = server.address();
  const url = `http://${hostOf(address)}:${port}`;
  let closed2;
  const close = () => closed2 ??= shutDown(server, handler, closing);
  return {
    url,
    port,
    openaiBaseUrl: `${url}/v1`,
    anthropicBaseUrl: `${url}/v1`,
    geminiBaseUrl: `${url}/v1beta`,
    requests: log.requests,
    get openAnswers() {
      return handler.open.size;
    },
    async idle() {
      while (handler.open.size > 0) await Promise.all(handler.open);
    },
    assertDone() {
      const { remaining } = source;
      if (remaining === 0) return;
      const scripts = remaining === 1 ? "1 script was" : `${remaining} scripts were`;
      throw new ValidationError("invalid_script", [
        { path: "scripts", problem: `${scripts} not played` }
      ]);
    },
    close,
    [Symbol.asyncDispose]: close
  };
}
function hostOf(address) {
  if (address === "0.0.0.0") return "127.0.0.1";
  if (address === "::") return "[::1]";
  return address.includes(":") ? `[${address}]` : address;
}
async function listen(server, options) {
  server.keepAliveTimeout = 0;
  server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  await once(server, "listening");
}
async function shutDown(server, handler, closing) {
  const over2 = once(server, "close");
  server.close();
  closing.abort();
  await Promise.all(handler.open);
  await setImmediate2();
  server.closeAllConnections();
  await over2;
}

// fs.mjs
import fs from "node:fs";
var src = fs.readFileSync(new URL("./req.mjs", import.meta.url), "utf8");
var block = src.slice(src.indexOf("const png="), src.indexOf("const provs="));
var { threads, opts } = new Function(block + ";return {threads,opts}")();
var srv = await createFakeServer({ script: [["text", '{"answer":"x","n":1}']], repeat: true });
var provs = { chat: [() => openai({ api: "chat", apiKey: "k", baseUrl: srv.openaiBaseUrl }), ["gpt-4o", "gpt-5", "o3-mini", "gpt-3.5-turbo"]], resp: [() => openai({ api: "responses", apiKey: "k", baseUrl: srv.openaiBaseUrl }), ["gpt-4o", "gpt-5", "gpt-5.5"]], ant: [() => anthropic({ apiKey: "k", baseUrl: srv.anthropicBaseUrl }), ["claude-3-5-sonnet-latest", "claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-5-5"]], gem: [() => gemini({ apiKey: "k", baseUrl: srv.geminiBaseUrl }), ["gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-pro-preview"]] };
var bad = {};
var n = 0;
for (const p in provs) for (const model of provs[p][1]) {
  const combos = [];
  for (const th in threads) for (const o of ["none", "tools", "re_high"]) combos.push([th, o]);
  for (const o in opts) for (const th of ["simple", "tools", "reasonAN"]) combos.push([th, o]);
  for (const [th, o] of combos) for (const via of ["engine", "adapter"]) {
    n++;
    const ad = provs[p][0]();
    try {
      if (via === "engine") await generate(createEngine({ adapter: ad, retry: false }), modelRequest(threads[th], { model, ...opts[o] }));
      else {
        const evs = [];
        for await (const b of ad.stream({ model, messages: threads[th], tools: [], providerOptions: {}, metadata: {}, ...opts[o] }, { requestId: "r" })) evs.push(...b);
        const l = evs.at(-1);
        if (l.type !== "message_completed") throw new Error(JSON.stringify(l));
      }
    } catch (e) {
      const k = `${via} ${p} ${isAllmError(e) ? e.kind + "/" + e.reason : "UNTYPED"} ${e.message.slice(0, 160)}`;
      (bad[k] ??= []).push(`${model} ${th} ${o}`);
    }
  }
}
console.log(n);
for (const k in bad) console.log(`## ${bad[k].length}x ${k}
    ${[...new Set(bad[k])].slice(0, 5).join(" | ")}`);
await srv.close();
process.exit(0);
