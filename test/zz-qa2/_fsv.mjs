// fsv.mjs
import { validate } from "/work/shared/oracles/validate.mjs";

// ../../src/server/create-fake-server.ts
import { once, setMaxListeners } from "node:events";
import { createServer } from "node:http";
import { setImmediate as setImmediate2 } from "node:timers/promises";

// ../../src/async/as-error.ts
function asError(thrown) {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
}

// ../../src/async/clock.ts
var systemClock = {
  now: () => Date.now(),
  sleep: (ms, signal) => new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(reasonOf(signal));
      return;
    }
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal === void 0 ? new Error("aborted") : reasonOf(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  }),
  timer: (ms, onTime) => {
    const timer = setTimeout(onTime, ms);
    return () => clearTimeout(timer);
  }
};
function reasonOf(signal) {
  return asError(signal.reason);
}

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
    Object.entries(value).map(([key, member]) => [
      key,
      keyNames.test(key) && typeof member === "string" ? "[redacted]" : redactJson(member)
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
    const members2 = Object.entries(value).filter(([, member]) => member !== void 0);
    return Object.fromEntries(
      members2.map(([key, member]) => [key, toJsonValue(member, depth + 1, path)])
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
function rechunk(frames, { seed: seed2, maxBytes }) {
  const random = seededRandom(seed2);
  const longest = Math.max(1, Math.floor(maxBytes));
  const result = [];
  for (const run of joinFrames(frames)) {
    let from = 0;
    while (from < run.bytes.length) {
      const to = from + 1 + Math.floor(random() * longest);
      const bytes = run.bytes.subarray(from, to);
      const first = from === 0 && run.delayMs !== void 0;
      result.push(first ? { bytes, delayMs: run.delayMs } : { bytes });
      from = to;
    }
  }
  return result;
}
function joinFrames(frames) {
  const runs = [];
  for (const { bytes, delayMs } of frames) {
    const run = runs.at(-1);
    if (run === void 0 || delayMs !== void 0) runs.push({ parts: [bytes], delayMs });
    else run.parts.push(bytes);
  }
  return runs.map(({ parts: parts2, delayMs }) => {
    const bytes = concat(parts2);
    return delayMs === void 0 ? { bytes } : { bytes, delayMs };
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
  const { name } = value.constructor;
  return name === "" ? "a class instance" : `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
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
  const name = typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key);
  const place = name ? key : `[${JSON.stringify(key)}]`;
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

// ../../src/validate/is-plain-object.ts
function isPlainObject(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
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

// ../../src/validate/unknown-keys.ts
function unknownKey(key, legalKeys, path = "") {
  const near = nearest(key, legalKeys);
  const advice = near === void 0 ? `legal are ${legalKeys.join(", ")}` : `did you mean ${near}?`;
  return { path, problem: `unknown key ${key}; ${advice}` };
}
function nearest(word, words) {
  const wanted = bare(word);
  const limit = Math.floor(Math.min(wanted.length / 2, Math.max(2, wanted.length / 3)));
  let best;
  let least = limit + 1;
  for (const candidate2 of words) {
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
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

// ../../src/validate/shape.ts
function shape(required2, optional = {}) {
  const requiredKeys = Object.keys(required2);
  const looksRight = members({ ...required2, ...optional }, () => [
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
function optionsOf(optional) {
  return members(optional, () => fine);
}
function members(table4, onUndefined) {
  const checks2 = new Map(Object.entries(table4));
  return (value) => {
    if (!isPlainObject(value)) return refuse("an object", value);
    let issues = fine;
    for (const key in value) {
      const member = value[key];
      const check3 = checks2.get(key);
      if (check3 === void 0) issues = join(issues, [unknownKey(key, [...checks2.keys()])]);
      else issues = join(issues, within(key, (member === void 0 ? onUndefined : check3)(member)));
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
function oneOf(words) {
  return must(
    `one of ${words.join(", ")}`,
    (value) => typeof value === "string" && words.includes(value)
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
  const { provider: provider2, status: status2, retryAfterMs, retryable } = error;
  return {
    ...provider2 === void 0 ? {} : { provider: provider2 },
    ...status2 === void 0 ? {} : { status: status2 },
    ...retryAfterMs === void 0 ? {} : { retryAfterMs },
    retryable
  };
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

// ../../src/testing/error-details-check.ts
var adapterReason = reasonCheck(adapterErrorReasons);
var streamReason = reasonCheck(streamErrorReasons);
var errorDetails = (value) => {
  let issues = jsonObject(value);
  if (issues.length > 0 || !isPlainObject(value)) return issues;
  for (const [key, member] of Object.entries(value)) {
    const check3 = detailChecks[key];
    if (check3 !== void 0) issues = join(issues, within(key, check3(member)));
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
function reasonCheck(reasons) {
  return (value) => {
    if (reasons.some((reason) => reason === value)) return fine;
    const meant = typeof value === "string" ? nearest(value, reasons) : void 0;
    const advice = meant === void 0 ? "" : `; did you mean ${meant}?`;
    const problem = `must be one of ${reasons.join(", ")}, not ${JSON.stringify(value)}${advice}`;
    return [{ path: "", problem }];
  };
}

// ../../src/validate/base64-problem.ts
function base64Problem(base642) {
  if (base642 === "") return "is empty";
  if (base642.startsWith("data:")) return "is a data URI; use imageFromDataUri";
  const at2 = base642.search(/[^A-Za-z0-9+/]/);
  const padding = at2 === -1 ? 0 : base642.length - at2;
  if (padding > 0 && (padding > 2 || base642.slice(at2) !== "=".repeat(padding))) {
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

// ../../src/data/usage.ts
var usageFields = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "cachedInputTokens",
  "cacheWriteInputTokens",
  "reasoningTokens"
];

// ../../src/testing/usage-check.ts
var usageCheck = (value) => {
  if (!isPlainObject(value)) return refuse("an object of token counts", value);
  let issues = fine;
  for (const [key, member] of Object.entries(value)) {
    if (key === "extra") issues = join(issues, within(key, jsonObject(member)));
    else if (isField(key)) issues = join(issues, within(key, tokens(member)));
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
  const advice = meant === void 0 ? legal : `did you mean ${meant}? ${legal}`;
  return [{ path: "", problem: `has no field ${key}; ${advice}` }];
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
  const spec = specTags.some((known) => known === tag2);
  const harness = harnessTags.some((known) => known === tag2);
  if (spec && harness) return "shared";
  if (spec) return "spec31";
  return harness ? "harness" : void 0;
}
function unknownTag(tag2) {
  const shown2 = typeof tag2 === "string" ? JSON.stringify(tag2) : `of type ${typeof tag2}`;
  const words = `${specTags.join(", ")} (error with two elements)`;
  const harness = `${harnessTags.join(", ")} (error with three elements)`;
  return `has the unknown tag ${shown2}; scripts say ${words}; harness scripts say ${harness}`;
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
var toolCall2 = shape(
  { id: someText, name: someText },
  { arguments: jsonObject, rawArguments: text, opaque: json }
);
var toolCallDelta = shape({ id: someText, argumentsDelta: text }, { name: someText });
var term = tuple([must("a reason or any other value", (value) => value !== void 0)]);
var checks = {
  text: tuple([text]),
  reasoning: tuple([text], [shape({}, { opaque: json })]),
  tool_call: tuple([toolCall2]),
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
function tuple(required2, optional = []) {
  const all = [...required2, ...optional];
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
  let first;
  for (const [index, entry] of entries.entries()) {
    const vocabulary = vocabularyOf(entry);
    if (vocabulary === "shared") continue;
    first ??= entry;
    if (vocabulary === vocabularyOf(first)) continue;
    const problem = `mixes two vocabularies: ${named(entry)} can not stand in a script with ${named(first)}`;
    return within(index, [{ path: "", problem }]);
  }
  return fine;
}
function named(entry) {
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
  const known = /* @__PURE__ */ new Map();
  return (key) => {
    const found = known.get(key);
    if (found !== void 0) return found;
    const value = work(key);
    known.set(key, value);
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
  const { script, scripts: scripts2, streamScript, scriptCursor } = options;
  if (script !== void 0 && scripts2 !== void 0) {
    refuse2("", "script and scripts are both given; script is one call, scripts is one list a call");
  }
  if (script !== void 0 && !Array.isArray(script)) {
    refuse2("script", `must be a list of entries, not ${describe(script)}`);
  }
  if (scripts2 !== void 0) listOfLists("scripts", scripts2);
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
  const { script, scripts: scripts2 = [], streamScript } = options;
  const calls = script === void 0 ? [] : [["script", script]];
  scripts2.forEach((list, index) => calls.push([`scripts[${index}]`, list]));
  if (streamScript === void 0) return calls;
  if (isFlat(streamScript)) return [...calls, ["streamScript", streamScript]];
  streamScript.forEach((list, index) => calls.push([`streamScript[${index}]`, list]));
  return calls;
}
function at(place, issues) {
  return issues.map(({ path, problem }) => ({ path: place + path, problem }));
}

// ../../src/data/assert-never.ts
function assertNever(value) {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}

// ../../src/wire/plan-builder.ts
function addText(draft, text3) {
  draft.openText ??= open(draft, { type: "text", text: "" });
  append(draft, draft.openText, text3);
}
function addReasoning(draft, text3, opaque) {
  closeText(draft);
  const block = defined({ type: "reasoning", text: "", opaque });
  const index = open(draft, block);
  if (text3 !== "") append(draft, index, text3);
  draft.steps.push({ type: "close", block: index });
}
function addToolCall(draft, call) {
  const index = toolBlock(draft, call.id, call);
  const sent = draft.blocks[index]?.text ?? "";
  const rest = sent === "" ? "{}" : sent;
  const text3 = call.rawArguments ?? (call.arguments === void 0 ? rest : JSON.stringify(call.arguments));
  if (text3.startsWith(sent) && text3 !== sent) append(draft, index, text3.slice(sent.length));
  draft.steps.push({ type: "close", block: index });
  draft.openTools.delete(call.id);
}
function addToolCallDelta(draft, delta) {
  append(draft, toolBlock(draft, delta.id, delta), delta.argumentsDelta);
}
function addImage(draft, image2) {
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
  for (const [id, block] of draft.openTools) {
    nameTool(draft, block, { name: id });
    draft.steps.push({ type: "close", block });
  }
  draft.openTools.clear();
}
function open(draft, block) {
  const index = draft.blocks.push(block) - 1;
  draft.steps.push({ type: "open", block: index });
  return index;
}
function append(draft, index, text3) {
  const block = draft.blocks[index];
  if (block === void 0 || block.type === "image") return;
  draft.blocks[index] = { ...block, text: block.text + text3 };
  draft.steps.push({ type: "delta", block: index, text: text3 });
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
  const block = draft.blocks[index];
  if (block?.type !== "tool_call") return;
  const name = block.name === "" ? facts2.name ?? "" : block.name;
  const opaque = facts2.opaque ?? block.opaque;
  draft.blocks[index] = defined({ ...block, name, opaque });
}

// ../../src/wire/plan-draft.ts
function newPlanDraft() {
  return { blocks: [], steps: [], openTools: /* @__PURE__ */ new Map(), openText: void 0 };
}

// ../../src/wire/plan-failure.ts
function failureOf(reason, facts2) {
  const { message: message3, status: status2, retryAfterMs, requestId } = facts2;
  return defined({
    reason: adapterErrorReasons.find((known) => known === reason) ?? "unknown",
    message: typeof message3 === "string" ? message3 : void 0,
    status: typeof status2 === "number" ? status2 : void 0,
    retryAfterMs: typeof retryAfterMs === "number" ? retryAfterMs : void 0,
    requestId: typeof requestId === "string" ? requestId : void 0
  });
}
function failureOfTerm(term2) {
  const reason = adapterErrorReasons.find((known) => known === term2);
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
  const calls = blocks.some((block) => block.type === "tool_call");
  const end = facts2.end ?? finished(draft, calls ? "tool_calls" : "stop");
  const { usage: usage2, id, model } = facts2;
  return defined({ blocks, steps, end, usage: usage2, id, model });
}
function apply(entry, facts2) {
  const { draft } = facts2;
  switch (entry[0]) {
    case "text":
    case "text_delta":
      return addText(draft, entry[1]);
    case "reasoning":
      return addReasoning(draft, entry[1], entry[2]?.opaque);
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
    if (part2.type === "image") addImage(draft, part2.image);
    else if (part2.type === "reasoning") addReasoning(draft, part2.text, part2.opaque);
    else if (part2.text !== "") addText(draft, part2.text);
    closeText(draft);
  }
  const calls = response2.toolCalls ?? response2.message?.toolCalls ?? [];
  for (const call of calls) addToolCall(draft, call);
  facts2.usage = response2.usage;
  facts2.id = response2.id;
  facts2.model = response2.model;
  const { error } = response2;
  if (error !== void 0) {
    facts2.end = error.kind === "stream" ? brokenEnd(error.reason) : failedEnd(failureOf(error.reason, { ...error }));
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
      return refusedOrFailed(nothingSaid, failureOf(entry[1], entry[2]));
    case "preflight_error":
      return refusedOrFailed(nothingSaid, failureOf(entry[1], entry[2]));
    case "error_event":
      return failedEnd(failureOf(entry[1], entry[2]));
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
  const text3 = (content2) => {
    const bytes = encoder.encode(content2);
    frames.push(pending > 0 ? { bytes, delayMs: pending } : { bytes });
    pending = 0;
  };
  return {
    frames,
    text: text3,
    event(data, name) {
      const payload = `data: ${JSON.stringify(data)}

`;
      text3(name === void 0 ? payload : `event: ${name}
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
  const words = wordsOf(format, failure2);
  const headers = failureHeaders(format, failure2);
  switch (format) {
    case "openai_chat":
    case "openai_responses":
      return { status: words.status, headers, body: { error: openaiError(words) } };
    case "anthropic":
      return {
        status: words.status,
        headers,
        body: { type: "error", error: anthropicError(words), request_id: requestId }
      };
    case "gemini":
      return { status: words.status, headers, body: { error: geminiError(words, failure2) } };
    default:
      return assertNever(format);
  }
}
function wordsOf(format, failure2) {
  const { reason, message: message3, status: status2 } = failure2;
  const table4 = format === "anthropic" ? anthropicFailures : format === "gemini" ? geminiFailures : openaiFailures;
  const usual = table4[reason];
  const unusual = status2 !== void 0 && status2 !== usual.status;
  return {
    status: status2 ?? usual.status,
    // A status that the script chose brings its own word, where the word follows from the status.
    word: unusual ? wordOfStatus(format, status2, usual.word) : usual.word,
    message: said(usual, message3) + waitHint(format, failure2)
  };
}
function said(usual, message3) {
  if (message3 === void 0) return usual.message;
  return usual.toldByMessage === true ? `${usual.message} (${message3})` : message3;
}
function waitHint(format, { reason, retryAfterMs }) {
  if (format === "anthropic" || format === "gemini") return "";
  if (reason !== "rate_limited" || retryAfterMs === void 0) return "";
  return ` Please try again in ${retryAfterMs / 1e3}s.`;
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
function geminiError(words, failure2) {
  const details = [];
  if (failure2.reason === "authentication_failed" && words.status === 400) {
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
  const error = { code: words.status, message: words.message, status: words.word };
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
  const { retryAfterMs, reason } = failure2;
  if (retryAfterMs !== void 0 && format !== "gemini") {
    headers["retry-after"] = String(Math.ceil(retryAfterMs / 1e3));
    if (format !== "anthropic" || retryAfterMs % 1e3 !== 0) {
      headers["retry-after-ms"] = String(retryAfterMs);
    }
  }
  if (reason === "no_scripted_response") headers["x-should-retry"] = "false";
  return headers;
}

// ../../src/wire/json-object.ts
function isJsonObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function parseJsonObject(text3) {
  try {
    const value = JSON.parse(text3);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
function asString(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

// ../../src/wire/anthropic-blocks.ts
function contentBlock(block) {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "reasoning":
      return reasoningBlock(block.text, block.opaque);
    case "tool_call":
      return {
        type: "tool_use",
        id: block.id,
        name: block.name,
        // A body holds decoded arguments; text that is not a JSON object can not stand there.
        input: parseJsonObject(block.text)
      };
    case "image":
      return { type: "text", text: "" };
    default:
      return assertNever(block);
  }
}
function startedBlock(block) {
  const whole2 = contentBlock(block);
  return { ...whole2, ...emptyMembers[typeOf(whole2)] };
}
var emptyMembers = {
  text: { text: "" },
  thinking: { thinking: "", signature: "" },
  tool_use: { input: {} }
};
function textDelta(block, text3) {
  return deltas[typeOf(contentBlock(block))]?.(text3);
}
var deltas = {
  text: (text3) => ({ type: "text_delta", text: text3 }),
  thinking: (thinking) => ({ type: "thinking_delta", thinking }),
  tool_use: (partial_json) => ({ type: "input_json_delta", partial_json })
};
function typeOf({ type }) {
  return typeof type === "string" ? type : "";
}
function signatureOf(block) {
  const { type, signature } = contentBlock(block);
  return type === "thinking" && typeof signature === "string" && signature !== "" ? signature : void 0;
}
function reasoningBlock(text3, opaque) {
  if (isJsonObject(opaque)) {
    const { signature: signature2, redacted, block } = opaque;
    if (typeof signature2 === "string") return { type: "thinking", thinking: text3, signature: signature2 };
    if (text3 === "" && typeof redacted === "string")
      return { type: "redacted_thinking", data: redacted };
    if (text3 === "" && isJsonObject(block)) return block;
  }
  const signature = opaque === void 0 ? "" : asString(opaque);
  return { type: "thinking", thinking: text3, signature };
}

// ../../src/wire/anthropic-usage.ts
function messageUsage(usage2) {
  const read = usage2.cachedInputTokens ?? 0;
  const written = usage2.cacheWriteInputTokens ?? 0;
  const { inputTokens, outputTokens, reasoningTokens, extra } = usage2;
  return {
    input_tokens: Math.max(0, (inputTokens ?? 0) - read - written),
    cache_creation_input_tokens: usage2.cacheWriteInputTokens ?? null,
    cache_read_input_tokens: usage2.cachedInputTokens ?? null,
    output_tokens: outputTokens ?? 0,
    ...reasoningTokens === void 0 ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } },
    ...extra
  };
}
function startUsage(usage2) {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens } = usage2;
  const known = defined({ inputTokens, cachedInputTokens, cacheWriteInputTokens });
  return messageUsage({ ...known, outputTokens: 0 });
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
var anthropic = {
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
    const say = (type, members2 = {}) => writer.event({ type, ...members2 }, type);
    const delta = (index, members2) => say("content_block_delta", { index, delta: members2 });
    let pinged = false;
    say("message_start", {
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
        const block = plan.blocks[index];
        if (block !== void 0)
          say("content_block_start", { index, content_block: startedBlock(block) });
        if (!pinged) say("ping");
        pinged = true;
      },
      delta(index, text3) {
        const block = plan.blocks[index];
        const members2 = block === void 0 ? void 0 : textDelta(block, text3);
        if (members2 !== void 0) delta(index, members2);
      },
      close(index) {
        const block = plan.blocks[index];
        const signature = block === void 0 ? void 0 : signatureOf(block);
        if (signature !== void 0) delta(index, { type: "signature_delta", signature });
        say("content_block_stop", { index });
      },
      finish() {
        say("message_delta", { delta: stop(plan), usage: messageUsage(plan.usage ?? {}) });
        say("message_stop");
      },
      fail(failure2) {
        const { word, message: message3 } = wordsOf("anthropic", failure2);
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
function wholePart(blocks, index) {
  const block = blocks[index];
  if (block === void 0) return void 0;
  switch (block.type) {
    case "text":
      return { text: block.text, ...signatureFromNext(blocks, index) };
    case "reasoning":
      return thoughtPart(block.text, block.opaque);
    case "tool_call":
      return {
        functionCall: { name: block.name, args: parseJsonObject(block.text), id: block.id },
        ...callSignature(block.opaque)
      };
    case "image":
      return { ...imagePart(block), ...signatureFromNext(blocks, index) };
    default:
      return assertNever(block);
  }
}
function signatureFromNext(blocks, index) {
  const next = blocks[index + 1];
  const signature = next?.type === "reasoning" ? previousSignature(next.text, next.opaque) : void 0;
  return signature === void 0 ? {} : { thoughtSignature: signature };
}
function previousSignature(text3, opaque) {
  if (text3 !== "" || !isJsonObject(opaque) || opaque["on"] !== "previous") return void 0;
  const { thoughtSignature } = opaque;
  return typeof thoughtSignature === "string" ? thoughtSignature : void 0;
}
function thoughtPart(text3, opaque) {
  if (previousSignature(text3, opaque) !== void 0) return void 0;
  if (text3 === "" && isJsonObject(opaque) && isJsonObject(opaque["part"])) return opaque["part"];
  const signature = opaque === void 0 ? {} : { thoughtSignature: asString(opaque) };
  return { text: text3, thought: true, ...signature };
}
function callSignature(opaque) {
  if (opaque === void 0) return {};
  const signature = isJsonObject(opaque) ? opaque["thoughtSignature"] : opaque;
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
var gemini = {
  defaultModel: "gemini-2.5-flash",
  namedEvents: false,
  headers: () => ({}),
  body: (plan, context) => ({
    candidates: [
      candidate(
        plan.blocks.flatMap((_, index) => wholePart(plan.blocks, index) ?? []),
        finishWord(plan)
      )
    ],
    ...usage(plan),
    ...chunkTail(context)
  }),
  stream(plan, context, writer) {
    let begun = false;
    const say = (part2, finish) => {
      begun = true;
      writer.event({
        candidates: [candidate([part2], finish)],
        ...finish === void 0 ? {} : usage(plan),
        ...chunkTail(context)
      });
    };
    const tell = (index) => {
      const part2 = wholePart(plan.blocks, index);
      if (part2 !== void 0) say(part2);
    };
    const calls = callQueue(tell);
    const begin = () => {
      calls.flush();
      if (!begun) say({ text: "" });
    };
    const sent = /* @__PURE__ */ new Map();
    return {
      begin,
      open(index) {
        if (plan.blocks[index]?.type === "tool_call") calls.open(index);
      },
      delta(index, text3) {
        const block = plan.blocks[index];
        if (block?.type !== "text") return;
        const sofar = (sent.get(index) ?? "") + text3;
        sent.set(index, sofar);
        const last = sofar === block.text;
        say({ text: text3, ...last ? signatureFromNext(plan.blocks, index) : {} });
      },
      close(index) {
        const type = plan.blocks[index]?.type;
        if (type === "tool_call") calls.close(index);
        else if (type !== "text") tell(index);
      },
      finish: () => say({ text: "" }, finishWord(plan)),
      fail(failure2) {
        begin();
        writer.event(renderFailure("gemini", failure2, context.requestId).body);
      }
    };
  }
};
function callQueue(tell) {
  let waiting = [];
  const flush = () => {
    for (const { index, complete } of waiting) if (complete) tell(index);
    waiting = waiting.filter(({ complete }) => !complete);
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
function candidate(parts2, finish) {
  return {
    content: { parts: parts2, role: "model" },
    ...finish === void 0 ? {} : { finishReason: finish },
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
function reasoningMembers(block) {
  if (block?.type !== "reasoning") return void 0;
  const { field, reasoning_details } = isJsonObject(block.opaque) ? block.opaque : {};
  const details = Array.isArray(reasoning_details) ? { reasoning_details } : {};
  const plain = field === "reasoning" || Array.isArray(reasoning_details);
  const text3 = block.text === "" ? {} : { [plain ? "reasoning" : "reasoning_content"]: block.text };
  const members2 = { ...text3, ...details };
  return Object.keys(members2).length === 0 ? void 0 : members2;
}
function wholeReasoning(blocks) {
  const whole2 = {};
  for (const block of blocks) {
    for (const [name, value] of Object.entries(reasoningMembers(block) ?? {})) {
      const before = whole2[name];
      const text3 = typeof before === "string" && typeof value === "string";
      whole2[name] = text3 ? before + value : value;
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
    ...inputDetails("prompt_tokens_details", usage2),
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
function inputDetails(name, usage2) {
  const { cachedInputTokens, cacheWriteInputTokens } = usage2;
  if (cachedInputTokens === void 0 && cacheWriteInputTokens === void 0) return {};
  return {
    [name]: {
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
    const { finish, usage: usage2 } = ending(plan);
    return {
      ...envelope(context, "chat.completion"),
      choices: [{ index: 0, message: message2(plan), logprobs: null, finish_reason: finish }],
      ...usage2 === void 0 ? {} : { usage: usage2 }
    };
  },
  stream(plan, context, writer) {
    const head = envelope(context, "chat.completion.chunk");
    const tail = context.includeUsage ? { usage: null } : {};
    const chunk = (delta, finish = null) => {
      const choice = { index: 0, delta, logprobs: null, finish_reason: finish };
      writer.event({ ...head, choices: [choice], ...tail });
    };
    const toolIndex = /* @__PURE__ */ new Map();
    const toolDelta = (block, call) => chunk({ tool_calls: [{ index: toolIndex.get(block) ?? 0, ...call }] });
    const opening = plan.blocks[0]?.type === "tool_call" ? null : "";
    chunk({ role: "assistant", content: opening, refusal: null });
    return {
      begin() {
      },
      open(block) {
        const call = plan.blocks[block];
        if (call?.type !== "tool_call") return;
        toolIndex.set(block, toolIndex.size);
        const { id, name } = call;
        toolDelta(block, { id, type: "function", function: { name, arguments: "" } });
      },
      delta(block, text3) {
        const whole2 = plan.blocks[block];
        if (whole2?.type === "text") chunk({ content: text3 });
        else if (whole2?.type === "tool_call") toolDelta(block, { function: { arguments: text3 } });
      },
      close(block) {
        const members2 = reasoningMembers(plan.blocks[block]);
        if (members2 !== void 0) chunk(members2);
      },
      finish() {
        const { finish, usage: usage2 } = ending(plan);
        chunk({}, finish);
        if (usage2 !== void 0 && context.includeUsage)
          writer.event({ ...head, choices: [], usage: usage2 });
        writer.text("data: [DONE]\n\n");
      },
      fail: (failure2) => writer.event({ error: openaiError(wordsOf("openai_chat", failure2)) })
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
  const finish = plan.end.type === "finished" ? chatFinishWords[plan.end.reason] : "stop";
  return plan.usage === void 0 ? { finish } : { finish, usage: chatUsage(plan.usage) };
}
function message2(plan) {
  const content2 = joined(plan.blocks, "text");
  const calls = plan.blocks.flatMap(
    (block) => block.type === "tool_call" ? [{ id: block.id, type: "function", function: { name: block.name, arguments: block.text } }] : []
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
  return blocks.map((block) => block.type === type ? block.text : "").join("");
}

// ../../src/wire/openai-responses-items.ts
function itemId(block, index, id) {
  const own = block.type === "reasoning" && isJsonObject(block.opaque) ? block.opaque["id"] : void 0;
  if (typeof own === "string") return own;
  const prefix = { text: "msg", reasoning: "rs", tool_call: "fc", image: "ig" }[block.type];
  return `${prefix}_${id}_${index}`;
}
function textPart(text3) {
  return { type: "output_text", annotations: [], logprobs: [], text: text3 };
}
function summaryPart(text3) {
  return { type: "summary_text", text: text3 };
}
function outputItem(block, id, status2) {
  const started = status2 === "in_progress";
  switch (block.type) {
    case "text":
      return {
        id,
        type: "message",
        status: status2,
        content: started ? [] : [textPart(block.text)],
        role: "assistant"
      };
    case "reasoning":
      return reasoningItem(block.text, started ? void 0 : block.opaque, id, started);
    case "tool_call":
      return {
        id,
        type: "function_call",
        status: status2,
        arguments: started ? "" : block.text,
        call_id: block.id,
        name: block.name
      };
    case "image":
      return {
        id,
        type: "image_generation_call",
        status: status2,
        result: started || block.image.type !== "base64" ? null : block.image.base64
      };
    default:
      return assertNever(block);
  }
}
function reasoningItem(text3, opaque, id, started) {
  const summary = started || text3 === "" ? [] : [summaryPart(text3)];
  return { id, type: "reasoning", summary, ...encrypted(opaque) };
}
function encrypted(opaque) {
  if (opaque === void 0) return {};
  if (!isJsonObject(opaque) || typeof opaque["id"] !== "string")
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
    const say = sequencedEvents(writer);
    const item = (block) => itemEvents(plan, context, block, say);
    say("response.created", { response: response(plan, context, "started") });
    say("response.in_progress", { response: response(plan, context, "started") });
    return {
      begin() {
      },
      open: (block) => item(block).open(),
      delta: (block, text3) => item(block).delta(text3),
      close: (block) => item(block).close(),
      finish() {
        say(`response.${outcome(plan).status}`, { response: response(plan, context, "ended") });
      },
      fail(failure2) {
        say("error", { error: openaiError(wordsOf("openai_responses", failure2)) });
        say("response.failed", { response: failedResponse(plan, context, failure2) });
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
function itemEvents(plan, context, index, say) {
  const block = plan.blocks[index];
  if (block === void 0) throw new RangeError(`no block ${index}`);
  const id = itemId(block, index, context.id);
  const at2 = { item_id: id, output_index: index };
  const stages = {
    text: {
      open: () => say("response.content_part.added", { ...at2, content_index: 0, part: textPart("") }),
      delta: (delta) => say("response.output_text.delta", { ...at2, content_index: 0, delta, logprobs: [] }),
      close() {
        const { text: text3 } = block;
        say("response.output_text.done", { ...at2, content_index: 0, text: text3, logprobs: [] });
        say("response.content_part.done", { ...at2, content_index: 0, part: textPart(text3) });
      }
    },
    reasoning: {
      open() {
        if (block.text === "") return;
        say("response.reasoning_summary_part.added", {
          ...at2,
          summary_index: 0,
          part: summaryPart("")
        });
      },
      delta(delta) {
        if (block.text === "") return;
        say("response.reasoning_summary_text.delta", { ...at2, summary_index: 0, delta });
      },
      close() {
        const { text: text3 } = block;
        if (text3 === "") return;
        say("response.reasoning_summary_text.done", { ...at2, summary_index: 0, text: text3 });
        const part2 = summaryPart(text3);
        say("response.reasoning_summary_part.done", { ...at2, summary_index: 0, part: part2 });
      }
    },
    tool_call: {
      open() {
      },
      delta: (delta) => say("response.function_call_arguments.delta", { ...at2, delta }),
      close: () => say("response.function_call_arguments.done", { ...at2, ...callEnd(block) })
    },
    image: { open() {
    }, delta() {
    }, close() {
    } }
  };
  const stage = stages[block.type];
  return {
    open() {
      const item = outputItem(block, id, "in_progress");
      say("response.output_item.added", { output_index: index, item });
      stage.open();
    },
    delta: (text3) => stage.delta(text3),
    close() {
      stage.close();
      const item = outputItem(block, id, itemStatus(plan, index));
      say("response.output_item.done", { output_index: index, item });
    }
  };
}
function callEnd(block) {
  return { arguments: block.text, name: block.type === "tool_call" ? block.name : "" };
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
function failedResponse(plan, context, failure2) {
  const { word, message: message3 } = wordsOf("openai_responses", failure2);
  return {
    ...response(plan, context, "started"),
    status: "failed",
    error: { code: word ?? "invalid_prompt", message: message3 }
  };
}
function outputItems(plan, context) {
  return plan.blocks.map(
    (block, index) => outputItem(block, itemId(block, index, context.id), itemStatus(plan, index))
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
  anthropic,
  gemini
};

// ../../src/wire/render-plan.ts
function renderPlan(format, plan, options) {
  const { end } = plan;
  if (end.type === "refused") return refusal(format, plan, end.failure, options.requestId);
  return options.stream ? streamed(format, plan, options) : whole(format, plan, options);
}
var html = "<html><body><h1>502 Bad Gateway</h1></body></html>";
function refusal(format, plan, failure2, requestId) {
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
function silence(end) {
  return { status: 0, headers: {}, frames: [], end };
}
function whole(format, plan, options) {
  const { end } = plan;
  if (end.type === "failed") return refusal(format, plan, end.failure, options.requestId);
  if (end.type === "broken" && end.how === "stall") return silence("stall");
  const writer = waitedWriter(plan);
  const text3 = JSON.stringify(renderers[format].body(plan, options));
  writer.text(end.type === "broken" ? text3.slice(0, text3.length / 2) : text3);
  const headers = {
    ...renderers[format].headers(options.requestId),
    "content-type": jsonType(format)
  };
  const cut = end.type === "broken" && end.how === "cut";
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
  for (const step of plan.steps.slice(lead)) take(step, stream, writer, renderer.namedEvents);
  const end = endStream(plan, stream, writer);
  return {
    status: 200,
    headers: {
      ...renderer.headers(options.requestId),
      "content-type": array ? jsonType(format) : "text/event-stream; charset=utf-8"
    },
    frames: writer.frames,
    end
  };
}
function take(step, stream, writer, named2) {
  switch (step.type) {
    case "open":
      return stream.open(step.block);
    case "delta":
      return stream.delta(step.block, step.text);
    case "close":
      return stream.close(step.block);
    case "raw":
      return rawEvent(step.chunk, writer, named2);
    case "wait":
      return writer.wait(step.ms);
    default:
      return assertNever(step);
  }
}
function rawEvent(chunk, writer, named2) {
  const event = typeof chunk === "object" && chunk !== null && !Array.isArray(chunk) ? chunk : { type: "raw_chunk", chunk };
  const type = "type" in event ? event.type : void 0;
  writer.event(event, named2 ? typeof type === "string" ? type : "raw_chunk" : void 0);
}
function endStream(plan, stream, writer) {
  const { end } = plan;
  switch (end.type) {
    case "finished":
      stream.finish();
      writer.end();
      return "normal";
    case "failed":
      stream.fail(end.failure);
      writer.end();
      return "normal";
    case "broken":
      stream.begin();
      if (end.how === "malformed") writer.text('data: {"malformed": \n\n');
      return end.how === "malformed" ? "normal" : end.how;
    case "refused":
      return "normal";
    default:
      return assertNever(end);
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
  const answer = renderPlan(format, plan, {
    id,
    created: wireEpoch,
    stream: options.stream ?? false,
    model: plan.model ?? options.model ?? renderers[format].defaultModel,
    requestId: options.requestId ?? `req_${id}`,
    includeUsage: options.includeUsage ?? true,
    framing: options.framing ?? "sse"
  });
  const { chunking } = options;
  return chunking === void 0 ? answer : { ...answer, frames: rechunk(answer.frames, chunking) };
}

// ../../src/wire/alter-answer.ts
function cutAfterEvents(answer, events) {
  const { frames } = answer;
  if (frames.length === 1) return { ...answer, frames: frames.map(firstHalf), end: "cut" };
  if (events >= frames.length) return answer;
  return { ...answer, frames: frames.slice(0, Math.max(0, events)), end: "cut" };
}
function malformEvent(answer, index) {
  const { frames } = answer;
  const at2 = frames.length === 1 ? 0 : index;
  return { ...answer, frames: frames.map((frame, i) => i === at2 ? malformed(frame) : frame) };
}
function slowAnswer(answer, ms) {
  const [first, ...rest] = answer.frames;
  if (first === void 0) return answer;
  return { ...answer, frames: [{ ...first, delayMs: (first.delayMs ?? 0) + ms }, ...rest] };
}
function firstHalf(frame) {
  return { ...frame, bytes: frame.bytes.subarray(0, frame.bytes.length / 2) };
}
var decoder = new TextDecoder();
var encoder2 = new TextEncoder();
function malformed(frame) {
  const text3 = decoder.decode(frame.bytes);
  const data = text3.indexOf("{");
  const half = data === -1 ? text3.slice(0, text3.length / 2) : text3.slice(0, (data + text3.length) / 2);
  const end = text3.endsWith("\n\n") ? "\n\n" : "";
  return { ...frame, bytes: encoder2.encode(data === -1 ? `data: {${end}` : half + end) };
}

// ../../src/server/apply-fault.ts
function applyFault(answer, fault2) {
  if (fault2 === void 0) return answer;
  const { slowMs, cutAfter, malformedAt } = fault2;
  let result = answer;
  if (malformedAt !== void 0) result = malformEvent(result, malformedAt);
  if (cutAfter !== void 0) result = cutAfterEvents(result, cutAfter);
  return slowMs === void 0 ? result : slowAnswer(result, slowMs);
}

// ../../src/server/prepared-answer.ts
function prepareAnswer(answer, pieces = false) {
  const { status: status2, headers, end } = answer;
  const frames = pieces ? answer.frames : joinFrames(answer.frames);
  const writes = frames.map(({ bytes, delayMs = 0 }) => ({ bytes, delayMs }));
  const [only] = writes;
  const length = frames.length === 1 && end === "normal" ? only?.bytes.length : void 0;
  const streamed2 = headers["content-type"]?.startsWith("text/event-stream") ?? false;
  const framing = length === void 0 || streamed2 ? { "transfer-encoding": "chunked" } : { "content-length": String(length) };
  return { status: status2, headers: { ...headers, ...framing }, writes, end };
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
      const known = fault2 === void 0 ? kept.get(key) : void 0;
      if (known !== void 0) return known;
      const answer = applyFault(render(taken, ask), fault2);
      const frames = chunking === void 0 ? answer.frames : rechunk(answer.frames, chunking);
      const prepared = prepareAnswer({ ...answer, frames }, chunking !== void 0);
      if (fault2 !== void 0 || answer.status !== 200) return prepared;
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

// ../../src/data/image-request.ts
var imageOperations = ["generate", "edit", "variation"];

// ../../src/testing/plain-copy.ts
function plainCopy(value, known = /* @__PURE__ */ new WeakMap()) {
  return copy(value, known);
}
function copy(value, known) {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  const earlier = known.get(value);
  if (earlier !== void 0) return earlier;
  const result = Array.isArray(value) ? [] : {};
  known.set(value, result);
  if (Array.isArray(result)) {
    for (const item of value) result.push(copy(item, known));
  } else {
    for (const [key, member] of Object.entries(value)) {
      if (member === void 0 || typeof member === "function") continue;
      Object.defineProperty(result, key, { value: copy(member, known), enumerable: true });
    }
  }
  return Object.freeze(result);
}

// ../../src/testing/call-log.ts
function callLog(keeping) {
  const calls = [];
  const known = /* @__PURE__ */ new WeakMap();
  let listed = Object.freeze([]);
  return {
    get count() {
      return calls.length;
    },
    add(request, options) {
      calls.push({ held: keeping.hold(request), options: plainOptions(options) });
    },
    list() {
      if (listed.length === calls.length) return listed;
      const added = calls.slice(listed.length).map(
        ({ held, options }) => Object.freeze({
          request: plainCopy(keeping.restore(held), known),
          options: Object.freeze(defined(options))
        })
      );
      listed = Object.freeze([...listed, ...added]);
      return listed;
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
  const [tag2, first, facts2] = items;
  switch (tag2) {
    case "ok":
      return join(
        join(arity(entry, 2, 3), within(1, images(first))),
        entry.length > 2 ? within(2, imageFacts(facts2)) : fine
      );
    case "error":
      return join(arity(entry, 2, 2), within(1, imageError(first)));
    case "retry_until_call":
      return join(arity(entry, 2, 2), within(1, count(first)));
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
  const known = imageAdapterErrorReasons.some((word) => word === reason);
  return known ? fine : within("reason", refuse(imageAdapterErrorReasons.join(", "), reason));
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
function oneOf2(known, word, fallback) {
  return known.find((candidate2) => candidate2 === word) ?? fallback;
}

// ../../src/testing/image-failures.ts
var provider = "fake";
function unsupportedOperation({ operation }, requestId) {
  const message3 = `the fake has no operation ${JSON.stringify(operation)}`;
  const metadata = { operation };
  return new ImageAdapterError("unsupported_operation", message3, { provider, requestId, metadata });
}
function noScriptedImage(entryCount, requestId) {
  const entries = entryCount === 1 ? "1 entry" : `${entryCount} entries`;
  const message3 = `no scripted image: the script has ${entries} and all were played`;
  const metadata = { cause: "no_scripted_image" };
  return new ImageAdapterError("unknown", message3, { provider, requestId, metadata });
}
function tryAgain(firstGoodCall, requestId) {
  const message3 = `a scripted rate limit: the next entry is played from call ${firstGoodCall} on`;
  return new ImageAdapterError("rate_limited", message3, { provider, requestId, retryAfterMs: 0 });
}

// ../../src/testing/stopped-by.ts
function stoppedBy(signal, { provider: provider2, requestId }, eventIndex) {
  const reason = signal.reason;
  if (isAllmError(reason)) return reason;
  return new StreamError("cancelled", `the call to ${provider2} was cancelled`, {
    provider: provider2,
    requestId,
    eventIndex,
    cause: reason
  });
}

// ../../src/testing/play-image-call.ts
function playImageCall(script, request, requestId, signal) {
  if (!imageOperations.includes(request.operation)) throw unsupportedOperation(request, requestId);
  if (signal?.aborted === true) throw stoppedBy(signal, { provider: "fake", requestId }, 0);
  const entry = takeEntry(script, requestId);
  switch (entry[0]) {
    case "ok":
      return imageResponse(entry, request, requestId);
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
function imageResponse([, images2, facts2 = {}], request, requestId) {
  return defined({
    requestId: facts2.requestId ?? requestId,
    id: facts2.id,
    model: facts2.model ?? request.model,
    provider: "fake",
    images: images2,
    usage: { images: images2.length, ...facts2.usage },
    metadata: facts2.metadata ?? request.metadata
  });
}

// ../../src/testing/fake-images.ts
function fakeImages(options = {}) {
  checkFakeImagesOptions(options);
  const { scriptCursor = createScriptCursor(), capture } = options;
  const script = { entries: plainCopy(options.script ?? []), cursor: scriptCursor };
  const log = callLog({
    hold: (request) => ({ ...request }),
    restore: (request) => request
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
    async generate(request, callOptions = {}) {
      log.add(request, callOptions);
      capture?.({ request, options: withoutKey(callOptions) });
      const requestId = callOptions.requestId ?? callOptions.newId?.("request") ?? `fake-request-${log.count}`;
      return playImageCall(script, request, requestId, callOptions.signal);
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
  unknown: (name) => ({ message: `${name}: Extra inputs are not permitted` }),
  wrongKind: (name, [expected = "object"]) => ({
    message: `${name}: Input should be ${expectations[expected]}`
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
function kindOf(value) {
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
  return kindOf(value) === "object" ? value : {};
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
function anthropicTurnsProblem(messages) {
  const [first] = messages;
  if (first === void 0) return { message: "messages: at least one message is required" };
  return firstProblem(
    messages,
    (message3, index) => messageProblem(message3, index, index === messages.length - 1)
  ) ?? (first["role"] === "user" ? void 0 : { message: 'messages: first message must use the "user" role' }) ?? toolOrderProblem(messages);
}
function messageProblem(message3, index, last) {
  const at2 = `messages.${index}`;
  const { role, content: content2 } = message3;
  const extra = Object.keys(message3).find((name) => name !== "role" && name !== "content");
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
    (block, i) => blockProblem(block, `${at2}.content.${i}`, role)
  );
}
function endsInSpace(content2) {
  const last = typeof content2 === "string" ? content2 : objectsOf(content2).at(-1)?.["text"];
  return typeof last === "string" && last !== "" && last !== last.trimEnd();
}
var blockIds = /^[a-zA-Z0-9_-]+$/;
function blockProblem(block, at2, role) {
  const { type, text: text3, id, name, input, tool_use_id } = block;
  if (type === void 0) return required(`${at2}.type`);
  if (type === "text") {
    if (typeof text3 !== "string") return required(`${at2}.text.text`);
    if (text3 === "") return { message: "messages: text content blocks must be non-empty" };
    if (text3.trim() === "")
      return { message: "messages: text content blocks must contain non-whitespace text" };
  }
  if (type === "tool_use") {
    if (role !== "assistant") return misplaced(type, role);
    if (name === void 0) return required(`${at2}.tool_use.name`);
    if (input === void 0) return required(`${at2}.tool_use.input`);
    return patternProblem(`${at2}.tool_use.id`, id, blockIds);
  }
  if (type === "tool_result") {
    if (role !== "user") return misplaced(type, role);
    return patternProblem(`${at2}.tool_result.tool_use_id`, tool_use_id, blockIds);
  }
  if (type === "thinking" && typeof block["signature"] !== "string")
    return required(`${at2}.thinking.signature`);
  return void 0;
}
function misplaced(type, role) {
  const other = role === "user" ? "assistant" : "user";
  return { message: `messages: \`${type}\` blocks can only be in \`${other}\` messages` };
}
function toolOrderProblem(messages) {
  const seen = /* @__PURE__ */ new Set();
  let open2 = [];
  let openedAt = 0;
  for (const { index, blocks } of turnsOf(messages)) {
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
function turnsOf(messages) {
  const turns = [];
  for (const [index, { role, content: content2 }] of messages.entries()) {
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
    const at2 = blocks.findIndex((block) => block["tool_use_id"] === orphan2);
    const message3 = `messages.${index}.content.${at2}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan2}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    return { message: message3 };
  }
  const leading = blocks.findIndex((block) => block["type"] !== "tool_result");
  const inPlace = leading === -1 ? answered : answered.slice(0, leading);
  const rest = open2.filter((id) => !inPlace.includes(id));
  return rest.length === 0 ? void 0 : unanswered(openedAt, rest);
}
function unanswered(index, ids) {
  const names = ids.join(", ");
  const message3 = `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${names}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  return { message: message3 };
}
function idsOf(blocks, type, member) {
  return blocks.flatMap((block) => block["type"] === type ? [shown(block[member])] : []);
}

// ../../src/server/param-problem.ts
function paramProblem(body, table4, words) {
  for (const [name, value] of Object.entries(body)) {
    const kinds = Object.hasOwn(table4, name) ? table4[name] : void 0;
    if (kinds === void 0) return words.unknown(name);
    if (value === null && words.nullable) continue;
    const kind = kindOf(value);
    const fits = kinds.length === 0 || kinds.some((wanted) => isOfKind(value, wanted));
    if (!fits) return words.wrongKind(name, kinds, kind);
  }
  return void 0;
}
function isOfKind(value, wanted) {
  const kind = kindOf(value);
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
  const { messages, max_tokens } = body;
  const tools = objectsOf(body["tools"]);
  return firstProblem(
    ["model", "max_tokens", "messages"],
    (name) => body[name] === void 0 ? required(name) : void 0
  ) ?? paramProblem(body, beta ? betaTable : table, anthropicWords2) ?? (typeof max_tokens === "number" && max_tokens < 1 ? { message: "max_tokens: Input should be greater than or equal to 1" } : void 0) ?? anthropicTurnsProblem(objectsOf(messages)) ?? systemProblem(body["system"]) ?? firstProblem(tools, toolProblem) ?? duplicateProblem(tools) ?? choiceProblem(body["tool_choice"], tools) ?? settingsProblem(body) ?? cacheProblem(body);
}
function systemProblem(system) {
  return firstProblem(objectsOf(system), ({ type, text: text3 }, index) => {
    const at2 = `system.${index}`;
    if (type !== "text") return { message: `${at2}.type: Input should be 'text'` };
    return text3 === "" ? { message: "system: text content blocks must be non-empty" } : void 0;
  });
}
var toolName = /^[a-zA-Z0-9_-]{1,128}$/;
function toolProblem(tool, index) {
  const { type, name, input_schema, description } = tool;
  if (type !== void 0 && type !== null && type !== "custom") return void 0;
  const at2 = `tools.${index}.custom`;
  const misnamed = patternProblem(`${at2}.name`, name, toolName);
  if (misnamed !== void 0) return misnamed;
  if (description !== void 0 && typeof description !== "string")
    return { message: `${at2}.description: Input should be a valid string` };
  if (input_schema === void 0) return required(`${at2}.input_schema`);
  if (kindOf(input_schema) !== "object")
    return { message: `${at2}.input_schema: Input should be a valid dictionary` };
  const { type: schemaType } = objectOf(input_schema);
  if (schemaType === void 0) return required(`${at2}.input_schema.type`);
  return schemaType === "object" ? void 0 : { message: `${at2}.input_schema.type: Input should be 'object'` };
}
function duplicateProblem(tools) {
  const names = tools.flatMap(({ name }) => typeof name === "string" ? [name] : []);
  return new Set(names).size === names.length ? void 0 : { message: "tools: Tool names must be unique." };
}
function choiceProblem(choice, tools) {
  if (choice === void 0) return void 0;
  const { type, name } = objectOf(choice);
  const types = ["auto", "any", "tool", "none"];
  if (typeof type !== "string" || !types.includes(type)) {
    const tags = types.map((tag2) => `'${tag2}'`).join(", ");
    const message3 = `tool_choice: Input tag '${shown(type)}' found using 'type' does not match any of the expected tags: ${tags}`;
    return { message: message3 };
  }
  if (tools.length === 0 && type !== "none")
    return { message: "tool_choice: may only be specified while providing tools" };
  if (type === "tool" && !tools.some((tool) => tool["name"] === name))
    return { message: `Tool '${shown(name)}' not found in provided tools` };
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
  for (const [name, member] of Object.entries(objectOf(value))) {
    if (name === "input" || name === "input_schema") continue;
    sum2 += name === "cache_control" && member !== null ? 1 : countMarks(member);
  }
  return sum2;
}

// ../../src/server/gemini-words.ts
function unknownName(name, at2) {
  const place = at2 === void 0 ? "" : ` at '${at2}'`;
  return {
    message: `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`
  };
}
function wrongKind(place, actual) {
  return { message: `Invalid value at '${snake(place)}' (${actual})` };
}
function geminiNames(table4) {
  return Object.fromEntries(
    Object.entries(table4).flatMap(([name, kinds]) => [
      [name, kinds],
      [snake(name), kinds]
    ])
  );
}
function snake(name) {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
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
  const extra = Object.keys(content2).find((name) => name !== "role" && name !== "parts");
  if (extra !== void 0) return unknownName(extra, at2);
  const { role } = content2;
  if (role !== void 0 && role !== null && !["user", "model", "function"].includes(shown(role)))
    return { message: "Please use a valid role: user, model." };
  const parts2 = partsOf(content2);
  if (parts2.length === 0)
    return { message: `* GenerateContentRequest.${at2}.parts: contents.parts must not be empty.
` };
  return firstProblem(parts2, (part2, i) => partProblem(part2, `${at2}.parts[${i}]`));
}
function partsOf(content2) {
  const { parts: parts2 } = content2;
  return objectsOf(Array.isArray(parts2) ? parts2 : parts2 === void 0 ? [] : [parts2]);
}
function partProblem(part2, at2) {
  const names = [...partData].flat();
  const extra = Object.keys(part2).find((name) => !names.includes(name) && !partFacts.has(name));
  if (extra !== void 0) return unknownName(extra, at2);
  const data = ["text", ...names].filter((name) => part2[name] !== void 0);
  if (data.length !== 1) {
    const rule = "required oneof field 'data' must have one initialized field";
    return { message: `* GenerateContentRequest.${at2}.data: ${rule}
` };
  }
  const call = functionPart(part2, "functionCall");
  const response2 = functionPart(part2, "functionResponse");
  const [kind, named2] = response2 === void 0 ? ["function_call", call] : ["function_response", response2];
  if (named2 === void 0 || typeof named2["name"] === "string" && named2["name"] !== "")
    return void 0;
  return { message: `* GenerateContentRequest.${at2}.${kind}.name: Name cannot be empty.
` };
}
function functionPart(part2, name) {
  const value = part2[name] ?? part2[partData.get(name) ?? ""];
  return value === void 0 ? void 0 : objectOf(value);
}
function countParts(content2, name) {
  if (content2 === void 0) return 0;
  return partsOf(content2).filter((part2) => functionPart(part2, name) !== void 0).length;
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
  const unknown = Object.keys(members2).find((name) => !keywords.has(name));
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
  const tools = listOf2(body["tools"]);
  return paramProblem(body, requestNames, {
    nullable: true,
    unknown: (name) => unknownName(name),
    wrongKind: (name, _, actual) => wrongKind(name, actual)
  }) ?? paramProblem(config, configNames, {
    nullable: true,
    unknown: (name) => unknownName(name, "generation_config"),
    wrongKind: (name, _, actual) => wrongKind(`generation_config.${name}`, actual)
  }) ?? geminiTurnsProblem(listOf2(body["contents"])) ?? firstProblem(tools, toolProblem2) ?? duplicateProblem2(tools) ?? schemaProblem(
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
function declarations(tool) {
  return listOf2(either(tool, "functionDeclarations", "function_declarations"));
}
var functionName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;
function toolProblem2(tool, toolIndex) {
  return firstProblem(declarations(tool), ({ name, parameters }, index) => {
    const at2 = `tools[${toolIndex}].function_declarations[${index}]`;
    if (typeof name !== "string" || !functionName.test(name)) {
      const rule = "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.";
      return { message: `* GenerateContentRequest.${at2}.name: ${rule}
` };
    }
    return schemaProblem(parameters, `${at2}.parameters`);
  });
}
function duplicateProblem2(tools) {
  const seen = /* @__PURE__ */ new Set();
  return firstProblem(tools.flatMap(declarations), ({ name }) => {
    if (typeof name !== "string") return void 0;
    if (seen.has(name)) return { message: `Duplicate function declaration found: ${name}` };
    seen.add(name);
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
  unknown: (name) => ({
    message: `Unknown parameter: '${name}'.`,
    param: name,
    code: "unknown_parameter"
  }),
  wrongKind: (name, expected, actual) => wrongType(name, expected.map(article).join(" or "), actual)
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
function nameProblem(name, param) {
  if (typeof name !== "string") return missing(param);
  if (toolName2.test(name)) return void 0;
  const message3 = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
  return name.length > 64 ? {
    message: `Invalid '${param}': string too long. Expected a string with maximum length 64, but got a string with length ${name.length} instead.`,
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
  return names.split(" ").map((name) => [name, kind]);
}

// ../../src/server/check-openai-chat-turns.ts
var roles2 = ["system", "assistant", "user", "function", "tool", "developer"];
function chatTurnsProblem(messages) {
  return firstProblem(messages, messageProblem2) ?? orderProblem2(messages);
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
    return wrongType(`${at2}.content`, "a string or an array", kindOf(content2));
  if (role === "tool" && typeof tool_call_id !== "string") return missing(`${at2}.tool_call_id`);
  if (tool_calls !== void 0 && role !== "assistant")
    return { message: `Unknown parameter: '${at2}.tool_calls'.`, param: `${at2}.tool_calls` };
  return firstProblem(objectsOf(content2), (part2, i) => partProblem2(part2, `${at2}.content[${i}]`)) ?? firstProblem(objectsOf(tool_calls), (call, i) => callProblem(call, `${at2}.tool_calls[${i}]`));
}
function speaksOtherwise({ tool_calls, function_call, refusal: refusal2, audio }) {
  return [tool_calls, function_call, refusal2, audio].some(
    (member) => member !== void 0 && member !== null
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
  const { name, arguments: text3 } = objectOf(call["function"]);
  if (text3 === void 0) return missing(`${at2}.function.arguments`);
  if (typeof text3 !== "string")
    return wrongType(`${at2}.function.arguments`, "a string", kindOf(text3));
  return nameProblem(name, `${at2}.function.name`);
}
function orderProblem2(messages) {
  let open2 = /* @__PURE__ */ new Set();
  for (const [index, message3] of messages.entries()) {
    const param = `messages.[${index}].role`;
    if (message3["role"] === "tool") {
      if (!open2.delete(message3["tool_call_id"])) return orphan(param);
      continue;
    }
    if (open2.size > 0) return unanswered2(open2, param);
    open2 = new Set(objectsOf(message3["tool_calls"]).map((call) => call["id"]));
  }
  return open2.size > 0 ? unanswered2(open2, `messages.[${messages.length - 1}].role`) : void 0;
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
  return (members2["type"] === "object" ? objectProblem(members2, place, context) : void 0) ?? nested(objectOf(properties), place, [...context, "properties"]) ?? (kindOf(items) === "object" ? strictSchemaProblem(items, place, [...context, "items"]) : void 0) ?? firstProblem(
    objectsOf(anyOf),
    (option, index) => strictSchemaProblem(option, place, [...context, "anyOf", String(index)])
  ) ?? nested(objectOf($defs ?? definitions), place, [...context, "$defs"]);
}
function nested(schemas, place, context) {
  return firstProblem(
    Object.entries(schemas),
    ([name, schema]) => strictSchemaProblem(schema, place, [...context, name])
  );
}
function objectProblem(schema, { of, param, code }, context) {
  const where = context.length === 0 ? "()" : `(${context.map((name) => `'${name}'`).join(", ")})`;
  const say = (rule) => ({
    message: `Invalid schema for ${of}: In context=${where}, ${rule}`,
    param,
    code
  });
  if (schema["additionalProperties"] !== false)
    return say("'additionalProperties' is required to be supplied and to be false.");
  const required2 = Array.isArray(schema["required"]) ? schema["required"] : [];
  const left = Object.keys(objectOf(schema["properties"])).find((name) => !required2.includes(name));
  return left === void 0 ? void 0 : say(
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
  const { messages, stream, stream_options } = body;
  const tools = objectsOf(body["tools"]);
  return paramProblem(body, table2, openaiWords) ?? unsupportedProblem(body) ?? (body["model"] === void 0 ? missing("model") : void 0) ?? messagesProblem(messages) ?? rangeProblem2(body) ?? firstProblem(tools, toolProblem3) ?? toolSettingProblem(body, tools.length) ?? choiceProblem2(body["tool_choice"], tools) ?? (stream_options !== void 0 && stream_options !== null && stream !== true ? {
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
function messagesProblem(messages) {
  if (messages === void 0 || messages === null) return missing("messages");
  const list = objectsOf(messages);
  if (list.length > 0) return chatTurnsProblem(list);
  const message3 = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
  return { message: message3, param: "messages", code: "empty_array" };
}
function toolProblem3(tool, index) {
  const at2 = `tools[${index}]`;
  if (tool["type"] !== "function")
    return wordProblem(`${at2}.type`, tool["type"], ["function", "custom"]);
  if (tool["function"] === void 0) return missing(`${at2}.function`);
  const { name, parameters, description, strict } = objectOf(tool["function"]);
  if (description !== void 0 && typeof description !== "string" && description !== null)
    return wrongType(`${at2}.function.description`, "a string", kindOf(description));
  if (parameters !== void 0 && kindOf(parameters) !== "object" && parameters !== null)
    return wrongType(`${at2}.function.parameters`, "an object", kindOf(parameters));
  const misnamed = nameProblem(name, `${at2}.function.name`);
  if (misnamed !== void 0 || strict !== true) return misnamed;
  return strictSchemaProblem(parameters, {
    of: `function '${shown(name)}'`,
    param: `${at2}.function.parameters`,
    code: "invalid_function_parameters"
  });
}
function choiceProblem2(choice, tools) {
  if (typeof choice === "string")
    return wordProblem("tool_choice", choice, ["none", "auto", "required"]);
  const { type, function: named2 } = objectOf(choice);
  if (type !== "function") return void 0;
  const { name } = objectOf(named2);
  if (tools.some((tool) => objectOf(tool["function"])["name"] === name)) return void 0;
  const message3 = `Tool choice 'function' not found in 'tools' parameter: '${shown(name)}'.`;
  return { message: message3, param: "tool_choice" };
}
function formatProblem(format) {
  const types = ["text", "json_object", "json_schema"];
  const { type } = format;
  if (type === void 0) return void 0;
  if (type !== "json_schema") return wordProblem("response_format.type", type, types);
  const at2 = "response_format.json_schema";
  if (format["json_schema"] === void 0) return missing(at2);
  const { name, schema, strict } = objectOf(format["json_schema"]);
  if (schema === void 0) return missing(`${at2}.schema`);
  const misnamed = nameProblem(name, `${at2}.name`);
  if (misnamed !== void 0 || strict !== true) return misnamed;
  const of = `response_format '${shown(name)}'`;
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
    return wrongType(`${at2}.content`, "a string or an array", kindOf(content2));
  const types = role === "assistant" ? outputTypes : inputTypes;
  return firstProblem(
    objectsOf(content2),
    (part2, i) => wordProblem(`${at2}.content[${i}]`, part2["type"], types)
  );
}
var inputTypes = ["input_text", "input_image", "input_file", "input_audio"];
var outputTypes = ["output_text", "refusal"];
function callProblem2(item, at2) {
  const { call_id, name, arguments: text3 } = item;
  if (typeof call_id !== "string") return missing(`${at2}.call_id`);
  if (text3 === void 0) return missing(`${at2}.arguments`);
  if (typeof text3 !== "string") return wrongType(`${at2}.arguments`, "a string", kindOf(text3));
  return nameProblem(name, `${at2}.name`);
}
function callsProblem(items) {
  const open2 = /* @__PURE__ */ new Set();
  const known = /* @__PURE__ */ new Set();
  for (const { type, call_id } of items) {
    const id = shown(call_id);
    if (type === "function_call") {
      open2.add(id);
      known.add(id);
    }
    if (type !== "function_call_output") continue;
    if (!known.has(id)) {
      const message3 = `No tool call found for function call output with call_id ${id}.`;
      return { message: message3, param: "input" };
    }
    open2.delete(id);
  }
  const [first] = open2;
  if (first === void 0) return void 0;
  return { message: `No tool output found for function call ${first}.`, param: "input" };
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
  const tools = objectsOf(body["tools"]);
  return paramProblem(body, table3, openaiWords) ?? (body["model"] === void 0 && body["prompt"] === void 0 ? missing("model") : void 0) ?? inputProblem(body) ?? rangeProblem2(body) ?? firstProblem(tools, toolProblem4) ?? toolSettingProblem(body, tools.length) ?? choiceProblem3(body["tool_choice"], tools) ?? formatProblem2(objectOf(objectOf(body["text"])["format"]));
}
function inputProblem(body) {
  const { input } = body;
  const remembered2 = ["previous_response_id", "conversation", "prompt"].some(
    (name) => body[name] !== void 0 && body[name] !== null
  );
  if (input === void 0 || input === null) return remembered2 ? void 0 : missing("input");
  return Array.isArray(input) ? responsesInputProblem(objectsOf(input), remembered2) : void 0;
}
function toolProblem4(tool, index) {
  const at2 = `tools[${index}]`;
  const { type, name, parameters, strict } = tool;
  if (type === void 0) return missing(`${at2}.type`);
  if (type !== "function") return void 0;
  if (parameters !== void 0 && parameters !== null && kindOf(parameters) !== "object")
    return wrongType(`${at2}.parameters`, "an object", kindOf(parameters));
  const misnamed = nameProblem(name, `${at2}.name`);
  if (misnamed !== void 0 || strict !== true) return misnamed;
  return strictSchemaProblem(parameters, {
    of: `function '${shown(name)}'`,
    param: `${at2}.parameters`,
    code: "invalid_function_parameters"
  });
}
function choiceProblem3(choice, tools) {
  if (typeof choice === "string")
    return wordProblem("tool_choice", choice, ["none", "auto", "required"]);
  const { type, name } = objectOf(choice);
  if (type !== "function" || tools.some((tool) => tool["name"] === name)) return void 0;
  const message3 = `Tool choice 'function' not found in 'tools' parameter: '${shown(name)}'.`;
  return { message: message3, param: "tool_choice" };
}
function formatProblem2(format) {
  const types = ["text", "json_object", "json_schema", "grammar", "python"];
  const { type, name, schema, strict } = format;
  if (type === void 0) return void 0;
  if (type !== "json_schema") return wordProblem("text.format.type", type, types);
  if (schema === void 0) return missing("text.format.schema");
  const misnamed = nameProblem(name, "text.format.name");
  if (misnamed !== void 0 || strict !== true) return misnamed;
  const of = `response_format '${shown(name)}'`;
  return strictSchemaProblem(schema, {
    of,
    param: "text.format.schema",
    code: "invalid_json_schema"
  });
}

// ../../src/server/check-request.ts
function checkRequest(format, body, headers) {
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
function unreadable(format) {
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
  const settled = { ...options, stream: false, includeUsage: true, framing: "sse" };
  if (provider2 === "openai" && "images" in outcome2) return openaiImages(outcome2, settled);
  const plan = "images" in outcome2 ? imagePlan(outcome2) : refusedPlan(outcome2.failure);
  return renderPlan(provider2 === "openai" ? "openai_chat" : "gemini", plan, settled);
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
    const { reason, message: message3, metadata, ...facts2 } = error.toJSON();
    if (metadata?.["cause"] === "no_scripted_image")
      return { failure: { reason: "no_scripted_response", message: message3 } };
    const known = reason === "unsupported_operation" ? "invalid_request" : reason;
    return { failure: failureOf(known, { ...facts2, message: message3 }) };
  }
}

// ../../src/server/read-body.ts
var maxBodyBytes = 64 * 1024 * 1024;
function readBody(request, onBody) {
  const chunks = [];
  let size = 0;
  request.on("data", (chunk) => {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  });
  request.on("end", () => {
    const [first, second] = chunks;
    if (size > maxBodyBytes) onBody(void 0);
    else onBody(second === void 0 && first !== void 0 ? first : Buffer.concat(chunks));
  });
}
function parseJson(bytes) {
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
    const name = key.replace(/\[\]$/, "");
    const values = form.getAll(key).map(
      (value) => typeof value === "string" ? value : { filename: value.name, contentType: value.type, size: value.size }
    );
    fields[name] = values.length === 1 && name === key ? values[0] ?? "" : values;
  }
  return fields;
}

// ../../src/server/refuse.ts
var formats = {
  openai: "openai_chat",
  anthropic: "anthropic",
  gemini: "gemini"
};
function refuse3(provider2, failure2, requestId) {
  const plan = { blocks: [], steps: [], end: { type: "refused", failure: failure2 } };
  return renderPlan(formats[provider2], plan, {
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
  const answer = refuse3(provider2, { reason: "invalid_request", message: message3, status: 400 }, requestId);
  if (provider2 !== "openai") return answer;
  const error = { message: message3, type: "invalid_request_error", param: param ?? null, code: code ?? null };
  return { ...answer, frames: [{ bytes: jsonBytes({ error }) }] };
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
  const scripts2 = scriptCount === 1 ? "1 script" : `${scriptCount} scripts`;
  const message3 = `no_scripted_response: no scripted response is left; the server has ${scripts2} and all were played`;
  return refuse3(provider2, { reason: "no_scripted_response", message: message3 }, requestId);
}
function refuseByFault(provider2, fault2, requestId) {
  const { status: status2, message: message3, retryAfterMs } = fault2;
  return refuse3(
    provider2,
    {
      reason: reasonOf2(status2),
      status: status2,
      ...message3 === void 0 ? {} : { message: message3 },
      ...retryAfterMs === void 0 ? {} : { retryAfterMs }
    },
    requestId
  );
}
function reasonOf2(status2) {
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
  const listed = faults[call];
  if (listed !== void 0 && listed !== null) return listed;
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
  const { rate429 = 0, rate5xx = 0, retryAfterMs = 1e3 } = failures2;
  if (draw429 < rate429) return { status: 429, retryAfterMs };
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
  const parsed = parseJson(incoming.bytes ?? Buffer.alloc(0));
  if (kindOf(parsed) !== "object") {
    const answer2 = prepareAnswer(refuseRequest(provider2, unreadable(format), requestId));
    return parsed === void 0 ? { answer: answer2, format } : { answer: answer2, format, body: parsed };
  }
  const body = objectOf(parsed);
  const problem = state.options.validateRequests === false ? void 0 : checkRequest(format, body, incoming.headers);
  const answer = problem === void 0 ? play(state, route, incoming, body) : prepareAnswer(refuseRequest(provider2, problem, requestId));
  return answer instanceof Promise ? answer.then((drawn) => ({ answer: drawn, format, body })) : { answer, format, body };
}
function play(state, route, { key, requestId }, body) {
  const { format, provider: provider2, framing } = route;
  const fault2 = nextFault(state);
  const { status: status2 } = fault2 ?? {};
  if (status2 !== void 0)
    return prepareAnswer(refuseByFault(provider2, { ...fault2, status: status2 }, requestId));
  const model = route.model ?? text2(body["model"]);
  if (drawsImages(route, body) && state.options.images !== void 0) {
    const drawn = imageAnswer("gemini", state.source.imagesOf(key), { model, requestId });
    return drawn.then((answer) => prepareAnswer(applyFault(answer, fault2)));
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
function text2(value) {
  return typeof value === "string" ? value : "";
}

// ../../src/server/check-images.ts
var shared = [
  ...params([], "n output_compression partial_images stream"),
  ...params(["string"], "prompt model quality response_format output_format size"),
  ...params(["string"], "background user")
];
var tables = {
  generate: Object.fromEntries([
    ...shared,
    ...params(["string"], "moderation style"),
    ...params(["integer"], "n output_compression partial_images"),
    ...params(["boolean"], "stream")
  ]),
  edit: Object.fromEntries([...shared, ...params([], "image images mask input_fidelity")]),
  variation: Object.fromEntries([...shared, ...params([], "image")])
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
  const answer = problem === void 0 ? await play2(state, incoming, body) : prepareAnswer(refuseRequest("openai", problem, requestId));
  return { answer, body };
}
async function bodyOf({ headers, bytes }) {
  const contentType = headers["content-type"] ?? "";
  const content2 = bytes ?? Buffer.alloc(0);
  if (contentType.startsWith("multipart/form-data")) return parseForm(content2, contentType);
  const value = parseJson(content2);
  return kindOf(value) === "object" ? objectOf(value) : void 0;
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
  const models = names.map((name) => modelEntry(provider2, name));
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
function modelEntry(provider2, name) {
  switch (provider2) {
    case "openai":
      return { id: name, object: "model", created: wireEpoch, owned_by: "allm" };
    case "anthropic":
      return { type: "model", id: name, display_name: name, created_at: createdAt };
    case "gemini":
      return {
        name: `models/${name.replace(/^models\//, "")}`,
        version: "001",
        displayName: name,
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
    const answer = refuseAddress(provider2, route.status, `${method} ${path}`, requestId);
    return { answer: prepareAnswer(answer) };
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
  const text3 = typeof value === "string" ? value : value?.[0];
  return text3 === "" ? void 0 : text3;
}
var keyHeaders = /* @__PURE__ */ new Set([
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "x-goog-api-key",
  "api-key",
  "cookie"
]);
function headersWithoutKeys(headers) {
  const kept = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== void 0 && !keyHeaders.has(name))
      kept[name] = typeof value === "string" ? value : value.join(", ");
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
  const known = Object.hasOwn(posts, path) ? posts[path] : void 0;
  if (known !== void 0) return method === "POST" ? known : refusedMethod(known.provider);
  return geminiRoute(method, path, query === -1 ? "" : url.slice(query)) ?? modelsRoute(method, path, headers) ?? {
    type: "unknown",
    provider: providerOf(path, headers),
    status: 404
  };
}
var generate = /^\/v1(?:beta|alpha)?\/(?:models|tunedModels)\/(.+):(generateContent|streamGenerateContent)$/;
function geminiRoute(method, path, query) {
  const [, model, action] = generate.exec(path) ?? [];
  if (model === void 0) return void 0;
  if (method !== "POST") return refusedMethod("gemini");
  return {
    type: "chat",
    provider: "gemini",
    format: "gemini",
    model: decode(model),
    stream: action === "streamGenerateContent",
    framing: /[?&]alt=sse(?:&|$)/.test(query) ? "sse" : "json_array"
  };
}
function modelsRoute(method, path, headers) {
  const [, model] = /^\/v1(?:beta|alpha)?\/models(?:\/(.+))?$/.exec(path) ?? [void 0, null];
  if (model === null) return void 0;
  const provider2 = providerOf(path, headers);
  if (method !== "GET") return refusedMethod(provider2);
  return model === void 0 ? { type: "models", provider: provider2 } : { type: "models", provider: provider2, model: decode(model) };
}
function providerOf(path, headers) {
  if (/^\/v1(?:beta|alpha)\//.test(path) || "x-goog-api-key" in headers) return "gemini";
  return "anthropic-version" in headers || "x-api-key" in headers ? "anthropic" : "openai";
}
function refusedMethod(provider2) {
  return { type: "unknown", provider: provider2, status: 405 };
}
function decode(text3) {
  try {
    return decodeURIComponent(text3);
  } catch {
    return text3;
  }
}

// ../../src/server/send-answer.ts
import { setImmediate } from "node:timers/promises";
function sendAnswer(response2, answer, options) {
  const { status: status2, headers, writes, end } = answer;
  const [first, second] = writes;
  if (status2 > 0 && end === "normal" && second === void 0 && (first?.delayMs ?? 0) === 0) {
    response2.writeHead(status2, headers);
    response2.end(first?.bytes);
    return void 0;
  }
  return sendSlowly(response2, answer, options);
}
async function sendSlowly(response2, { status: status2, headers, writes, end }, options) {
  const gone = new AbortController();
  const leave = () => gone.abort(new Error("the connection was closed"));
  response2.once("close", leave);
  options.signal.addEventListener("abort", leave, { once: true });
  try {
    for (const [index, write] of writes.entries()) {
      await writeAfterWait(response2, write, gone.signal, {
        ...options,
        head: index === 0 ? () => response2.writeHead(status2, headers) : void 0
      });
    }
    if (end === "normal") response2.end();
    else if (end === "cut") response2.destroy();
    else await silence2(gone.signal);
  } catch {
    response2.destroy();
  } finally {
    response2.off("close", leave);
    options.signal.removeEventListener("abort", leave);
  }
}
async function writeAfterWait(response2, { bytes, delayMs }, gone, { clock, pieces, head }) {
  if (delayMs > 0) await clock.sleep(delayMs, gone);
  if (pieces) await setImmediate();
  gone.throwIfAborted();
  head?.();
  await new Promise((resolve, reject) => {
    const leave = () => reject(new Error("the connection was closed"));
    gone.addEventListener("abort", leave, { once: true });
    response2.write(bytes, (error) => {
      gone.removeEventListener("abort", leave);
      if (error) reject(error);
      else resolve();
    });
  });
}
function silence2(gone) {
  return new Promise((_, reject) => {
    const leave = () => reject(new Error("the connection was closed"));
    if (gone.aborted) leave();
    gone.addEventListener("abort", leave, { once: true });
  });
}

// ../../src/server/request-handler.ts
function requestHandler(state, log, sending) {
  let count2 = 0;
  const open2 = /* @__PURE__ */ new Set();
  const settle = (incoming, decision, response2) => {
    log.add(recorded(incoming, decision));
    const sent = sendAnswer(response2, decision.answer, sending);
    if (sent === void 0) return;
    const over = sent.then(() => {
      open2.delete(over);
    });
    open2.add(over);
  };
  return {
    open: open2,
    handle(request, response2) {
      const number = ++count2;
      const { method = "GET", url = "/", headers } = request;
      const route = routeOf(method, url, headers);
      const key = apiKeyOf(route.provider, headers, url);
      const requestId = `req_fake_${number}`;
      readBody(request, (bytes) => {
        const incoming = { number, method, url, headers, bytes, key, requestId };
        const decision = decide(state, route, incoming);
        if (!(decision instanceof Promise)) {
          settle(incoming, decision, response2);
          return;
        }
        decision.then(
          (later) => settle(incoming, later, response2),
          (error) => settle(incoming, broken(route.provider, error, requestId), response2)
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
function recorded(incoming, { answer, body, format }) {
  const { number, method, url, headers } = incoming;
  return defined({
    number,
    method,
    path: pathWithoutKey(url),
    headers: headersWithoutKeys(headers),
    body,
    format,
    status: answer.status
  });
}

// ../../src/server/request-log.ts
function requestLog(limit) {
  const requests = [];
  return {
    requests,
    add(request) {
      requests.push(request);
      if (requests.length >= limit * 2) requests.splice(0, requests.length - limit);
    }
  };
}

// ../../src/server/script-source.ts
function scriptSource({ scripts: scripts2, images: images2, repeat, perKey }) {
  const cursors = /* @__PURE__ */ new Map();
  const drawers = /* @__PURE__ */ new Map();
  const nameOf = (key) => perKey ? key ?? "" : "";
  return {
    size: scripts2.length,
    take(key) {
      const cursor = made(cursors, nameOf(key), createScriptCursor);
      const index = repeat && scripts2.length > 0 ? cursor.index % scripts2.length : cursor.index;
      cursor.advance();
      const script = scripts2[index];
      return script === void 0 ? void 0 : { script, index };
    },
    imagesOf: (key) => made(drawers, nameOf(key), () => fakeImages({ script: images2 })),
    get remaining() {
      const played = Array.from(cursors.values(), ({ index }) => index);
      const least = played.length === 0 ? 0 : Math.min(...played);
      return Math.max(0, scripts2.length - least);
    }
  };
}
function made(values, name, make) {
  const value = values.get(name) ?? make();
  values.set(name, value);
  return value;
}

// ../../src/server/create-fake-server.ts
async function createFakeServer(options = {}) {
  checkFakeServerOptions(options);
  const { script, scripts: scripts2 = script === void 0 ? [] : [script] } = options;
  const source = scriptSource({
    scripts: scripts2,
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
  const server = createServer((request, response2) => handler.handle(request, response2));
  await listen(server, options);
  return fakeServer(server, { handler, log, source, closing });
}
function fakeServer(server, { handler, log, source, closing }) {
  const { port, address } = server.address();
  const url = `http://${hostOf(address)}:${port}`;
  let closed;
  const close = () => closed ??= shutDown(server, handler, closing);
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
      const scripts2 = remaining === 1 ? "1 script was" : `${remaining} scripts were`;
      throw new ValidationError("invalid_script", [
        { path: "scripts", problem: `${scripts2} not played` }
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
  const over = once(server, "close");
  server.close();
  closing.abort();
  await Promise.all(handler.open);
  await setImmediate2();
  server.closeAllConnections();
  await over;
}

// fsv.mjs
var scripts = {
  text: [["text", "hi"]],
  two: [["text", "a"], ["text", "b"]],
  empty: [],
  emptytext: [["text", ""]],
  tool: [["tool_call", { id: "c1", name: "f", arguments: { a: 1 } }]],
  toolNoArgs: [["tool_call", { id: "c1", name: "f", arguments: {} }]],
  par: [["text", "x"], ["tool_call", { id: "c1", name: "f", arguments: { a: 1 } }], ["tool_call", { id: "c2", name: "g", arguments: {} }]],
  raw: [["tool_call", { id: "c1", name: "f", arguments: {}, rawArguments: '{"a":' }]],
  delta: [["tool_call_delta", { id: "c1", name: "f", argumentsDelta: '{"a"' }], ["tool_call_delta", { id: "c1", argumentsDelta: ":1}" }]],
  reason: [["reasoning", "think"], ["text", "x"]],
  reasonOpaque: [["reasoning", "think", { opaque: "c2ln" }], ["text", "x"]],
  reasonTool: [["reasoning", "think", { opaque: "c2ln" }], ["tool_call", { id: "c1", name: "f", arguments: {} }]],
  reasonEmpty: [["reasoning", "", { opaque: "c2ln" }], ["text", "x"]],
  usage: [["text", "x"], ["usage", { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 3, cacheWriteInputTokens: 2, reasoningTokens: 2 }]],
  usagePart: [["text", "x"], ["usage", { inputTokens: 10 }]],
  ...Object.fromEntries(["stop", "length", "tool_calls", "content_filter", "error", "other"].map((f) => ["fin_" + f, [["text", "x"], ["finish", f]]])),
  err: [["error", "rate_limited"]],
  errAfter: [["text", "x"], ["error", "provider_unavailable"]],
  errAfter2: [["text", "x"], ["error", "content_filter"]],
  h3: [["error", "context_length_exceeded", { message: "too long" }]],
  rawchunk: [["raw_chunk", { a: 1 }], ["text", "x"]],
  delay: [["delay", 1], ["text", "x"]],
  uni: [["text", '\xE9\u{1F600}\u2028"\\']],
  ...Object.fromEntries(["authentication_failed", "rate_limited", "invalid_request", "content_filter", "context_length_exceeded", "provider_unavailable", "timeout", "network_error", "malformed_response", "unsupported_feature", "unknown"].map((r) => ["e_" + r, [["error", r]]])),
  ...Object.fromEntries(["authentication_failed", "rate_limited", "invalid_request", "content_filter", "context_length_exceeded", "provider_unavailable", "timeout", "malformed_response", "unknown"].map((r) => ["m_" + r, [["text", "x"], ["error", r]]]))
};
var bad = {};
var n = 0;
var note = (k, w) => {
  (bad[k] ??= []).push(w);
};
for (const s in scripts) {
  const srv = await createFakeServer({ script: scripts[s], repeat: true });
  for (const stream of [false, true]) for (const p of ["chat", "resp", "ant", "gem"]) {
    const [url, body, headers] = { chat: [srv.openaiBaseUrl + "/chat/completions", { model: "gpt-4o", messages: [{ role: "user", content: "hi" }], stream, ...stream ? { stream_options: { include_usage: true } } : {} }, { authorization: "Bearer k" }], resp: [srv.openaiBaseUrl + "/responses", { model: "gpt-5", input: "hi", stream }, { authorization: "Bearer k" }], ant: [srv.anthropicBaseUrl + "/messages", { model: "claude-sonnet-4-5", max_tokens: 100, messages: [{ role: "user", content: "hi" }], stream }, { "x-api-key": "k", "anthropic-version": "2023-06-01" }], gem: [srv.geminiBaseUrl + "/models/gemini-2.5-flash:" + (stream ? "streamGenerateContent?alt=sse" : "generateContent"), { contents: [{ role: "user", parts: [{ text: "hi" }] }] }, { "x-goog-api-key": "k" }] }[p];
    let r, text3;
    try {
      r = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
      text3 = await r.text();
    } catch (e) {
      note(`fetch ${p} ${s} ${stream}`, e.message + " " + e.cause?.message);
      continue;
    }
    n++;
    const kinds = { chat: ["openai.chat.response", "openai.chat.chunk", "openai.error"], resp: ["openai.responses.response", "openai.responses.event", "openai.error"], ant: ["anthropic.messages.response", "anthropic.messages.event", "anthropic.error"], gem: ["gemini.generate.response", "gemini.generate.response", null] }[p];
    for (const mode of ["exact", "default"]) {
      const chk = (kind, o) => {
        if (!kind) return;
        const v = validate(kind, o, { mode });
        if (!v.ok) note(`${mode} ${kind}: ${v.errors.slice(0, 3).join(" ; ")}`, `${s} ${stream} ${JSON.stringify(o).slice(0, 200)}`);
      };
      if (r.status !== 200) {
        let o;
        try {
          o = JSON.parse(text3);
        } catch {
          note(`err not json ${p}`, `${s} ${r.status} ${text3.slice(0, 80)}`);
          continue;
        }
        chk(kinds[2], o);
      } else if (!stream) {
        let o;
        try {
          o = JSON.parse(text3);
        } catch {
          note(`body not json ${p}`, `${s} ${text3.slice(0, 80)}`);
          continue;
        }
        if (o.error && p !== "resp") note(`200 error body ${p}`, s);
        else chk(kinds[0], o);
      } else for (const l of text3.split(/\r?\n/)) {
        const m = /^data: (.*)$/.exec(l);
        if (!m || m[1] === "[DONE]") continue;
        let o;
        try {
          o = JSON.parse(m[1]);
        } catch {
          note(`event not json ${p}`, `${s} ${m[1].slice(0, 80)}`);
          continue;
        }
        if (o.error && p !== "resp" && p !== "ant") continue;
        if (o.type === "error" && p === "ant") {
          chk("anthropic.error", o);
          continue;
        }
        chk(kinds[1], o);
      }
    }
  }
  await srv.close();
}
console.log(n);
for (const k in bad) console.log(`## ${bad[k].length}x ${k}
    ${bad[k].slice(0, 2).join("\n    ")}`);
process.exit(0);
