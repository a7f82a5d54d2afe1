// req.mjs
import { validate } from "/work/shared/oracles/validate.mjs";

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
function startTimer(clock, ms, onTime) {
  if (clock.timer !== void 0) return clock.timer(ms, onTime);
  const controller = new AbortController();
  clock.sleep(ms, controller.signal).then(onTime, () => void 0);
  return () => controller.abort();
}
function reasonOf(signal) {
  return asError(signal.reason);
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
  for (const shape of keyShapes) {
    result = result.replace(
      shape,
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
  const facts = { name: error.name, message: error.message };
  if ("code" in error && typeof error.code === "string") facts["code"] = error.code;
  if (error.cause !== void 0) facts["cause"] = toJsonValue(error.cause, depth + 1, path);
  return facts;
}

// ../../src/errors/allm-error.ts
var brand = /* @__PURE__ */ Symbol.for("allm-ts.error");
var AllmError = class extends Error {
  metadata;
  requestId;
  /** What had been received when the call failed. Set on errors that reject `generate`, `step` and `chat`. */
  partial;
  constructor(message, details = {}) {
    super(redact(message), details.cause === void 0 ? {} : { cause: details.cause });
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

// ../../src/validate/is-plain-object.ts
function isPlainObject(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

// ../../src/validate/unknown-keys.ts
function unknownKeys(value, legalKeys2, path = "") {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).filter((key) => !legalKeys2.includes(key)).map((key) => unknownKey(key, legalKeys2, path));
}
function unknownKey(key, legalKeys2, path = "") {
  const near = nearest(key, legalKeys2);
  const advice = near === void 0 ? `legal are ${legalKeys2.join(", ")}` : `did you mean ${near}?`;
  return { path, problem: `unknown key ${key}; ${advice}` };
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
  constructor(reason, message, details = {}) {
    super(message, details);
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
  constructor(reason, message, details = {}) {
    super(message, details);
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
  constructor(reason, message, details = {}) {
    super(message, details);
    this.reason = reason;
    this.provider = details.provider;
  }
  facts() {
    return this.provider === void 0 ? {} : { provider: this.provider };
  }
};

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
  constructor(reason, message, details = {}) {
    super(message, details);
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
  constructor(reason, message, details = {}) {
    super(message, details);
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
  constructor(reason, message, details = {}) {
    super(message, details);
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
  const { message } = data;
  const details = { ...data, partial: data.partial };
  switch (data.kind) {
    case "adapter":
      return new AdapterError(oneOf(adapterErrorReasons, data.reason, "unknown"), message, details);
    case "image_adapter":
      return new ImageAdapterError(
        oneOf(imageAdapterErrorReasons, data.reason, "unknown"),
        message,
        details
      );
    case "stream":
      return new StreamError(oneOf(streamErrorReasons, data.reason, "unknown"), message, details);
    case "tool":
      return new ToolError(oneOf(toolErrorReasons, data.reason, "handler_raised"), message, details);
    case "engine":
      return new EngineError(
        oneOf(engineErrorReasons, data.reason, "invalid_engine"),
        message,
        details
      );
    case "session":
      return new SessionError(
        oneOf(sessionErrorReasons, data.reason, "unreadable"),
        message,
        details
      );
    case "validation":
      return new ValidationError(
        oneOf(validationErrorReasons, data.reason, "invalid_request"),
        data.issues ?? [{ path: "", problem: message }],
        details
      );
    default:
      return assertNever(data.kind);
  }
}
function oneOf(known2, word, fallback) {
  return known2.find((candidate) => candidate === word) ?? fallback;
}

// ../../src/collect/failure.ts
function failureOf(error, partial) {
  const failure = errorFromJSON(error);
  failure.partial = partial;
  return failure;
}

// ../../src/data/message.ts
function messageText(message) {
  const { content } = message;
  if (typeof content === "string") return content;
  let text3 = "";
  for (const part of content) if (part.type === "text") text3 += part.text;
  return text3;
}

// ../../src/events/assistant-message.ts
function assistantMessage(parts, toolCalls) {
  const content = parts.every((part) => part.type === "text") ? parts.map((part) => part.text).join("") : parts;
  return toolCalls.length === 0 ? { role: "assistant", content } : { role: "assistant", content, toolCalls };
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
function addImage(blocks, image) {
  park(blocks, { closed: false });
  const block = { kind: "image", index: void 0, text: "", closed: true, image };
  blocks.parked = [...blocks.parked, block];
}
function toParts(blocks, provider) {
  const all = { ...blocks };
  park(all, { closed: false });
  const parts = [];
  for (const { kind, text: text3, opaque, image } of all.parked) {
    if (image !== void 0) parts.push({ type: "image", image });
    else if (kind === "text" && text3 !== "") parts.push({ type: "text", text: text3 });
    else if (kind === "reasoning" && (text3 !== "" || opaque !== void 0)) {
      parts.push(defined({ type: "reasoning", text: text3, opaque, provider }));
    }
  }
  return parts;
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
function park(blocks, end) {
  const { openKind: kind, openIndex: index, openText: text3, openAt } = blocks;
  if (kind === void 0) return;
  const { closed: closed2, opaque } = end;
  blocks.parked = blocks.parked.with(openAt, { kind, index, text: text3, closed: closed2, opaque });
  blocks.openKind = void 0;
  blocks.openText = "";
  blocks.openAt = -1;
}

// ../../src/collect/to-response.ts
function toResponse(state) {
  const last = state.steps.at(-1);
  if (!state.active && last !== void 0 && state.error === void 0) return last.response;
  const { end, error } = state;
  const message = currentMessage(state);
  return defined({
    requestId: state.requestId,
    id: state.id,
    model: state.model,
    provider: state.provider,
    message,
    outputText: messageText(message),
    toolCalls: message.toolCalls ?? [],
    finishReason: error !== void 0 ? "error" : end?.finishReason ?? "other",
    rawFinishReason: end?.rawFinishReason,
    usage: state.usage,
    error,
    metadata: end?.metadata ?? {}
  });
}
function currentMessage(state) {
  const { end } = state;
  if (end === void 0) {
    const message = assistantMessage(toParts(state, state.provider), state.calls.map(toCall));
    return { ...message, metadata: { partial: true } };
  }
  const said2 = end.message.content.length > 0 || end.message.toolCalls !== void 0;
  return said2 ? end.message : assistantMessage(toParts(state, state.provider), state.calls.map(toCall));
}
function toCall({ id, name, raw, call }) {
  return call ?? { id, name, arguments: {}, rawArguments: raw };
}

// ../../src/validate/base64-problem.ts
function base64Problem(base64) {
  if (base64 === "") return "is empty";
  if (base64.startsWith("data:")) return "is a data URI; use imageFromDataUri";
  const at = base64.search(/[^A-Za-z0-9+/]/);
  const padding2 = at === -1 ? 0 : base64.length - at;
  if (padding2 > 0 && (padding2 > 2 || base64.slice(at) !== "=".repeat(padding2))) {
    return `is not base64: character ${at + 1} is ${JSON.stringify(base64[at])}`;
  }
  if (base64.length % 4 === 0) return void 0;
  return `is not base64: its length, ${base64.length}, is not a multiple of 4 (is the padding missing?)`;
}

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
    parked: none2,
    openKind: void 0,
    openIndex: void 0,
    openText: "",
    openAt: -1,
    calls: none2,
    end: void 0,
    error: void 0,
    active: false,
    started: none2,
    results: none2,
    toolMessages: none2,
    halts: none2,
    questions: none2,
    answers: 0,
    steps: none2,
    haltedReason: void 0,
    result: void 0
  };
}
var none2 = [];

// ../../src/collect/clear-message.ts
function clearMessage(state) {
  clearBlocks(state);
  state.calls = none2;
  state.end = void 0;
  state.active = false;
  state.usage = {};
  state.started = none2;
  state.results = none2;
  state.toolMessages = none2;
  state.halts = none2;
}

// ../../src/data/thread.ts
function appendMessages(to, ...messages) {
  return { ...to, messages: to.messages.concat(messages) };
}

// ../../src/events/tool-message.ts
var awaitingUser = "<awaiting user response>";
function toolMessage(toolCallId, content) {
  return { role: "tool", content, toolCallId };
}
function askedMessage(toolCallId) {
  return { role: "tool", content: awaitingUser, toolCallId, metadata: { askUser: true } };
}
function interruptedMessage(toolCallId, reason) {
  const content = JSON.stringify({ error: sentences[reason] });
  return { role: "tool", content, toolCallId, metadata: { interrupted: true, reason } };
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
  return halts.toSorted((a2, b) => order.indexOf(a2.toolCallId) - order.indexOf(b.toolCallId));
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
      const { toolCallId, reason, result, content } = event;
      addToolMessage(state, toolMessage(toolCallId, content));
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
    toolResults: newMessages.filter((message) => message.role === "tool"),
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
function addToolMessage(state, message) {
  state.results = state.results.filter(({ toolCallId }) => toolCallId !== message.toolCallId);
  state.toolMessages = [...state.toolMessages, message];
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
  const { message, finishReason: finishReason2, rawFinishReason, metadata } = event;
  state.end = defined({ message, finishReason: finishReason2, rawFinishReason, metadata });
  state.active = true;
  state.answers++;
  if (event.usage !== void 0) state.usage = { ...state.usage, ...event.usage };
}
function setCall(state, call) {
  const at = state.calls.findIndex(({ id }) => id === call.id);
  state.calls = at === -1 ? [...state.calls, call] : state.calls.with(at, call);
}
function growCall(state, id, delta) {
  const at = state.calls.findLastIndex((call) => call.id === id);
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
function sniffMimeType(image) {
  const start3 = typeof image === "string" ? decodeStart(image) : latin1(image.subarray(0, 12));
  if (start3.startsWith("\x89PNG\r\n\n")) return "image/png";
  if (start3.startsWith("\xFF\xD8\xFF")) return "image/jpeg";
  if (start3.startsWith("GIF87a") || start3.startsWith("GIF89a")) return "image/gif";
  return start3.startsWith("RIFF") && start3.endsWith("WEBP") ? "image/webp" : void 0;
}
function decodeStart(base64) {
  try {
    return atob(base64.slice(0, 16));
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
  const follow = () => controller.abort(parent?.reason);
  if (parent?.aborted === true) follow();
  else parent?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent?.removeEventListener("abort", follow)
  };
}

// ../../src/http/guarded-call.ts
function guardCall(call) {
  const { provider, requestId, requestTimeoutMs, streamTimeoutMs } = call;
  const abort = linkedAbort(call.signal);
  const timed = requestTimeoutMs !== void 0 || streamTimeoutMs !== void 0;
  const dog = watchdog(call.clock ?? systemClock, (ms) => {
    const message = `${provider} was silent for ${ms} ms`;
    abort.abort(new AdapterError("timeout", message, { provider, requestId }));
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
  const secrets = Object.entries(headers).filter(([name]) => keyHeaders.has(name.toLowerCase())).map(([, value]) => value.replace(/^(?:Bearer|Basic)\s+/i, "")).filter((secret) => secret !== "");
  return (text3) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text3);
}
function withoutSecrets(failure, headers) {
  const clean = secretFilter(headers);
  const { metadata } = failure;
  return {
    ...failure,
    message: clean(failure.message),
    ...metadata === void 0 ? {} : { metadata: cleanMembers(metadata, clean) }
  };
}
function cleanMembers(members2, clean) {
  return Object.fromEntries(
    Object.entries(members2).map(([name, value]) => [name, cleanValue(value, clean)])
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
function transportFailure(error, call, signal) {
  const { provider, requestId } = call;
  if (signal.aborted) {
    const reason = signal.reason;
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
  const advice = code !== void 0 && platformTimeouts.has(code) ? "; the limit is that of this runtime, and only a fetch of your own can raise it" : "";
  const message = `${provider} could not be reached: ${text3}${advice}`;
  return new AdapterError(timedOut ? "timeout" : "network_error", message, {
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
async function post(call, signal) {
  const headers = legalHeaders(call);
  const send = call.fetch ?? globalThis.fetch;
  if (signal.aborted) throw transportFailure(signal.reason, call, signal);
  let response;
  try {
    const body = call.body === void 0 ? {} : { body: call.body };
    const init = { method: "POST", headers, ...body, redirect: "manual", signal };
    response = await unlessAborted(send(call.url, init), signal);
  } catch (error) {
    throw transportFailure(error, call, signal);
  }
  if (response.status < 200 || response.status >= 300) throw await refusal(response, call, signal);
  call.onResponse?.(response);
  return response;
}
function unlessAborted(sending, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      reject(reasonOf(signal));
      sending.then((late) => late.body?.cancel()).catch(() => void 0);
    };
    signal.addEventListener("abort", stop, { once: true });
    sending.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
function legalHeaders(call) {
  const headers = { ...call.headers };
  const probe = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    try {
      probe.set(name, value);
    } catch {
      const message = `the header ${name} for ${call.provider} has characters that a header can not hold`;
      const { provider, requestId } = call;
      throw new AdapterError("invalid_request", message, { provider, requestId });
    }
  }
  return headers;
}
async function refusal(response, call, signal) {
  const { status, headers } = response;
  const facts = { provider: call.provider, requestId: call.requestId };
  if (response.type === "opaqueredirect" || status >= 300 && status < 400) {
    await response.body?.cancel();
    const message2 = `${call.provider} answered with a redirect, which is not followed; correct baseUrl`;
    return new AdapterError("invalid_request", message2, { ...facts, status });
  }
  let body;
  try {
    body = await readBounded(response, maxFailureBytes);
  } catch (error) {
    if (signal.aborted) throw transportFailure(error, call, signal);
    body = "";
  }
  const failure = withoutSecrets(call.parseFailure(status, body, headers), call.headers);
  const { reason, message, ...rest } = failure;
  return new AdapterError(reason, message, { ...facts, status, ...rest });
}

// ../../src/http/post-for-json.ts
async function postForJson(call) {
  const guard = guardCall(call);
  try {
    const response = await post(call, guard.signal);
    const text3 = await response.text();
    return {
      value: parse(text3, call, response.status),
      status: response.status,
      headers: response.headers
    };
  } catch (error) {
    throw transportFailure(error, call, guard.signal);
  } finally {
    guard.close();
  }
}
function parse(text3, call, status) {
  try {
    return JSON.parse(text3);
  } catch (cause) {
    const { provider, requestId } = call;
    const message = `${provider} answered ${status} with a body that is not JSON: ${text3.slice(0, 120)}`;
    throw new AdapterError("malformed_response", message, { provider, requestId, status, cause });
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
function checkInlineImage(image, limits) {
  const { base64, mimeType } = image;
  if (typeof base64 !== "string" || base64 === "") return { problem: "has no bytes" };
  const size = decodedSize(base64);
  if (size > limits.maxBytes) return { problem: tooLarge(size, limits) };
  if (!wellFormed.has(image)) {
    const problem = base64Problem(base64);
    if (problem !== void 0) return { problem };
    wellFormed.add(image);
  }
  return settleMimeType(mimeType, sniffMimeType(base64), limits);
}
var wellFormed = /* @__PURE__ */ new WeakSet();
async function readFileImage(image, limits, readFile) {
  let bytes;
  try {
    bytes = await readFile(image.path, limits.maxBytes);
  } catch (error) {
    const text3 = error instanceof Error ? error.message : String(error);
    return { problem: `can not be read from ${image.path}: ${text3}` };
  }
  if (bytes.byteLength === 0) return { problem: `is an empty file, ${image.path}` };
  if (bytes.byteLength > limits.maxBytes) return { problem: tooLarge(bytes.byteLength, limits) };
  const type = settleMimeType(image.mimeType, sniffMimeType(bytes), limits);
  return type.problem === void 0 ? { bytes, mimeType: type.mimeType } : type;
}
function decodedSize(base64) {
  const padding2 = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor(base64.length * 3 / 4) - padding2;
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
    const facts = await file.stat();
    if (!facts.isFile()) throw new Error("it is not a regular file");
    if (facts.size > maxBytes2) throw new Error(`it has ${facts.size} bytes`);
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
function mergeBody(body, over) {
  if (over === void 0) return body;
  const result = { ...body };
  for (const [key, value] of Object.entries(over)) {
    result[key] = addedTo.has(key) && Array.isArray(value) ? addItems(asList(result[key]), asList(value)) : mergeValue(result[key], value);
  }
  return result;
}
function addItems(known2, over) {
  return [...known2, ...over.filter((item) => !known2.includes(item))];
}
function mergeValue(known2, over) {
  const before = asObject(known2);
  const after = asObject(over);
  if (before === void 0 || after === void 0) return over;
  const result = { ...before };
  for (const [key, value] of Object.entries(after)) result[key] = mergeValue(result[key], value);
  return result;
}

// ../../src/providers/openai/call-headers.ts
function callHeaders(settings, { apiKey, stream, requestId }) {
  const { provider, official } = settings;
  const key = apiKey === void 0 || apiKey === "" ? settings.ownKey() : apiKey;
  if (key === void 0 && official && settings.headers["authorization"] === void 0) {
    const message = `no key for ${provider}: neither the call nor the adapter has one`;
    throw new EngineError("missing_key", message, { provider, requestId });
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
  const { message, code, type, param } = failure;
  const fallback = `${provider} answered ${status ?? "with an error"}`;
  const asked = reason === "rate_limited" ? askedIn(message ?? "") : void 0;
  return {
    reason,
    message: message === void 0 ? fallback : `${provider}: ${message}`,
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
  const { code = "", type = "", message = "" } = failure;
  const byWord = wordReason(code) ?? wordReason(type);
  const byText = status === void 0 || status < 500 ? textReason(message) : void 0;
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
function textReason(message) {
  return sentences2.find(([sentence2]) => sentence2.test(message))?.[1];
}
function statusReason(status) {
  if (status === 401 || status === 403) return "authentication_failed";
  if (status === 402 || status === 429) return "rate_limited";
  if (status === 408) return "timeout";
  if (status === 404 || status === 405 || status === 415) return "invalid_request";
  return status >= 500 ? "provider_unavailable" : "unknown";
}
function askedIn(message) {
  const match = /try again in (?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?/i.exec(message);
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
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
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
function unreadable(problem, call, { sent }) {
  if (isAllmError(problem)) return problem;
  const { provider, requestId } = call;
  const text3 = problem instanceof Error ? problem.message : String(problem);
  const message = `${provider} sent an event that can not be read: ${text3}`;
  if (sent === 0) {
    return new AdapterError("malformed_response", message, { provider, requestId, cause: problem });
  }
  const eventIndex = sent;
  return new StreamError("malformed_event", message, {
    provider,
    requestId,
    eventIndex,
    cause: problem
  });
}
function truncated(call, { sent }, foreign) {
  const { provider, requestId } = call;
  if (foreign && sent === 0) {
    const message2 = `${provider} answered with a body that is neither a stream of events nor an answer`;
    return new AdapterError("malformed_response", message2, { provider, requestId });
  }
  const message = `the answer of ${provider} ended without its end marker`;
  return new StreamError("truncated", message, { provider, requestId, eventIndex: sent });
}
function brokenRead(error, call, signal, { sent }) {
  const failure = transportFailure(error, call, signal);
  if (sent === 0 || isAllmError(error) || signal.aborted || failure.kind !== "adapter") {
    return failure;
  }
  const { provider, requestId } = call;
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
  const call = typeof source === "function" ? await source() : source;
  if (exit.left) return;
  const guard = guardCall(call);
  exit.guard = guard;
  let reader;
  let sent = 0;
  let seen = 0;
  try {
    const response = await post(call, guard.signal);
    reader = bodyReader(response, call, guard.signal);
    const body = bodyDecoder(decoder, call.splitter?.(response) ?? sseSplitter());
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
      if (stopped !== void 0) {
        const cut = done && stopped.problem instanceof SyntaxError && !body.isDocument;
        throw cut ? truncated(call, { sent, seen }, false) : unreadable(stopped.problem, call, { sent, seen });
      }
      if (done && !decoder.done) {
        throw truncated(call, { sent, seen }, hadText && (seen === 0 || body.isDocument));
      }
    }
  } catch (error) {
    if (exit.left) return;
    const failure = brokenRead(error, call, guard.signal, { sent, seen });
    if (sent === 0) throw failure;
    yield [decoder.failure(failure.toJSON())];
  } finally {
    if (decoder.done && reader !== void 0) letEnd(reader, guard).catch(() => void 0);
    else await hangUp(reader, guard);
  }
}
function bodyReader(response, call, signal) {
  const type = response.headers.get("content-type") ?? "";
  if (response.body !== null && !type.includes("text/html")) {
    const reader = response.body.getReader();
    const stop = () => {
      reader.cancel().catch(() => void 0);
    };
    signal.addEventListener("abort", stop, { once: true });
    return reader;
  }
  const { provider, requestId } = call;
  const { status } = response;
  const message = `${provider} answered ${status} with ${type || "no body"} instead of a stream`;
  throw new AdapterError("malformed_response", message, { provider, requestId, status });
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
function noteList(draft, name, items) {
  const added = asList(items);
  if (added.length === 0) return;
  const known2 = draft.lists[name] ??= [];
  for (const item of added) known2.push(item);
}
function reportedError(draft, value) {
  const { provider, requestId, providerRequestId, clean } = draft.notes;
  const reported = readFailure(value);
  const { reason, message, metadata, ...rest } = judgeFailure(provider, reported);
  return new AdapterError(reason, clean(message), {
    provider,
    requestId,
    status: reported.status,
    ...rest,
    metadata: {
      ...cleanMembers(metadata ?? {}, clean),
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
  for (const name of names) if (wire[name] !== void 0 && wire[name] !== null) return wire[name];
  return void 0;
}
function remainder(wire) {
  const rest = {};
  for (const [name, value] of Object.entries(wire)) {
    if (lifted.has(name) || value === null) continue;
    const details = asObject(value);
    const kept = details === void 0 ? value : remainder(details);
    if (kept !== void 0) rest[name] = kept;
  }
  return Object.keys(rest).length === 0 ? void 0 : rest;
}

// ../../src/providers/openai/message-events.ts
function begin(draft, out) {
  if (draft.started) return;
  draft.started = true;
  const { id, model } = draft;
  const { requestId, provider } = draft.notes;
  out.push(defined({ type: "message_started", requestId, provider, id, model }));
  for (const chunk of draft.held) out.push({ type: "raw_chunk", chunk });
  draft.held = [];
}
function passRaw(draft, chunk, out) {
  if (draft.started) out.push({ type: "raw_chunk", chunk });
  else draft.held.push(chunk);
}
function addImage2(draft, image, out) {
  begin(draft, out);
  draft.parts.push({ type: "image", image });
  out.push({ type: "image_completed", image });
}
function complete(draft, end, out) {
  begin(draft, out);
  draft.done = true;
  const { parts, calls, usage, refusal: refusal2, notes } = draft;
  const metadata = defined({
    ...draft.metadata,
    ...draft.lists,
    refusal: asText(refusal2),
    droppedParameters: notes.dropped.length === 0 ? void 0 : notes.dropped,
    providerRequestId: notes.providerRequestId
  });
  const { finishReason: finishReason2, rawFinishReason } = end;
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(parts.filter(saysSomething), calls),
      finishReason: refusal2 !== "" && finishReason2 === "stop" ? "content_filter" : finishReason2,
      rawFinishReason,
      usage: usage === void 0 ? void 0 : parseUsage(usage),
      metadata: Object.keys(metadata).length === 0 ? void 0 : metadata
    })
  );
}
function saysSomething(part) {
  if (part.type === "image" || part.text !== "") return true;
  return part.type === "reasoning" && part.opaque !== void 0;
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
    for (const [name, value] of Object.entries(members2)) {
      if (!common.has(name) && value !== null && value !== "") draft.metadata[name] = value;
    }
  }
}
var audioGrows = /* @__PURE__ */ new Set(["data", "transcript"]);
function noteAudio(draft, audio) {
  const known2 = { ...asObject(draft.metadata["audio"]) };
  for (const [name, value] of Object.entries(asObject(audio) ?? {})) {
    const before = known2[name];
    known2[name] = audioGrows.has(name) && typeof before === "string" && typeof value === "string" ? before + value : value;
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
  for (const [name, value] of Object.entries(piece)) {
    const before = known2[name];
    if (typeof before === "string" && typeof value === "string" && grows.has(name)) {
      result[name] = before + value;
    } else if (value !== null) {
      result[name] = value;
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
    end(out);
    open = kind;
    grown = "";
    slot = draft.parts.push({ type: kind, text: "" }) - 1;
  };
  const end = (out) => {
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
      if (open === "reasoning") end(out);
    },
    end
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
      for (const call of open.calls) if (!call.started) start(open, call, out);
      for (const { id, name, raw, opaque } of open.started) {
        const call = defined({ id, name, ...parseArguments(raw), opaque });
        draft.calls.push(call);
        out.push({ type: "tool_call_completed", call });
      }
    }
  };
}
function takeFragment(open, fragment, position, out) {
  const made = asObject(fragment["function"]);
  const id = asText(fragment["id"]);
  const name = asText(made?.["name"]);
  const call = findCall(open, id, name, asCount(fragment["index"]) ?? position);
  const piece = argumentsText(made?.["arguments"]);
  call.wireId ??= id;
  if (call.name === "") call.name = name ?? "";
  const extra = fragment["extra_content"];
  if (extra) call.opaque = { extra_content: extra };
  call.raw += piece;
  if (!call.started) {
    if (call.wireId !== void 0 && call.name !== "") start(open, call, out);
  } else if (piece !== "") {
    out.push({ type: "tool_call_delta", id: call.id, argumentsDelta: piece });
  }
}
function findCall(open, id, name, index) {
  if (index !== void 0) {
    const known2 = open.byIndex.get(index);
    if (known2 !== void 0 && !(name !== void 0 && isAnother(known2, id))) return known2;
    const call = addCall(open);
    open.byIndex.set(index, call);
    return call;
  }
  const last = open.calls.at(-1);
  const same = id === void 0 ? last : open.calls.find((call) => call.wireId === id);
  const begins = id === void 0 && name !== void 0 && last?.raw !== "";
  return same === void 0 || begins ? addCall(open) : same;
}
function isAnother({ wireId: wireId2, raw }, id) {
  if (id !== void 0) return wireId2 !== void 0 && wireId2 !== id;
  return wireId2 === void 0 && Object.keys(parseArguments(raw).arguments).length > 0;
}
function addCall(open) {
  const call = {
    wireId: void 0,
    id: "",
    name: "",
    raw: "",
    started: false,
    opaque: void 0
  };
  open.calls.push(call);
  return call;
}
function start({ draft, newId, started }, call, out) {
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
    take: (delta, whole, out) => takeDelta(answer2, delta, whole, out),
    end(out) {
      answer2.blocks.end(out);
      answer2.tools.end(out);
    }
  };
}
function takeDelta(answer2, delta, whole, out) {
  const { draft, blocks } = answer2;
  const content = delta["content"];
  const thought = reasoningField(delta);
  if (thought !== void 0) takeReasoning(answer2, delta, thought, out);
  if (typeof content === "string") {
    if (content !== "") blocks.text(content, out);
  } else if (content) {
    for (const part of asList(content)) takePart(answer2, asObject(part) ?? {}, out);
  }
  if (delta["refusal"]) takeRefusal(answer2, delta["refusal"], out);
  if (delta["tool_calls"] || delta["function_call"]) takeTools(answer2, delta, whole, out);
  if (delta["images"]) for (const image of asList(delta["images"])) takeImage(answer2, image, out);
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
  for (const name of reasoningFields) if (delta[name]) return name;
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
function takePart(answer2, part, out) {
  const { blocks } = answer2;
  const { thinking } = part;
  for (const thought of typeof thinking === "string" ? [thinking] : asList(thinking)) {
    const said2 = asText(thought) ?? asText(asObject(thought)?.["text"]);
    if (said2 !== void 0) blocks.reasoning(said2, out);
  }
  const text3 = asText(part["text"]);
  if (text3 !== void 0) blocks.text(text3, out);
  else takeImage(answer2, part, out);
}
function takeImage({ draft }, value, out) {
  const image = parseImage(value);
  if (image !== void 0) addImage2(draft, image, out);
}
function takeRefusal({ draft, blocks }, refusal2, out) {
  if (typeof refusal2 !== "string") return;
  draft.refusal += refusal2;
  blocks.text(refusal2, out);
}
function takeTools(answer2, delta, whole, out) {
  const { blocks, tools } = answer2;
  const fragments = asList(delta["tool_calls"]);
  if (fragments.length > 0) blocks.endReasoning(out);
  fragments.forEach((value, position) => {
    const fragment = asObject(value);
    if (fragment !== void 0) tools.take(fragment, whole ? position : void 0, out);
  });
  if (delta["function_call"]) tools.take({ function: delta["function_call"] }, 0, out);
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
    ([name, value]) => name === "role" || !value || Array.isArray(value) && value.length === 0
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
      const start3 = chunk.trimStart();
      if (chosen === void 0 && start3 === "") return;
      chosen ??= start3.startsWith("{") || start3.startsWith("[") ? wholeBody() : sseSplitter();
      chosen.feed(chunk, onEvent);
    },
    end(onEvent) {
      chosen?.end(onEvent);
    }
  };
}

// ../../src/vision/resolve-image.ts
async function resolveImage(image, limits, readFile) {
  switch (image.type) {
    case "base64": {
      const type = checkInlineImage(image, limits);
      if (type.problem !== void 0) return type;
      return {
        image: type.mimeType === image.mimeType ? image : { ...image, mimeType: type.mimeType }
      };
    }
    case "url":
      return isWebAddress(image.url) ? { image } : { problem: "has an address that is not http or https" };
    case "file": {
      const file = await readFileImage(image, limits, readFile);
      if (file.problem !== void 0) return file;
      const { path: _path, ...facts } = image;
      const { bytes, mimeType } = file;
      return { image: { ...facts, type: "base64", base64: bytesToBase64(bytes), mimeType } };
    }
    default:
      return assertNever(image);
  }
}
function isWebAddress(address) {
  if (!URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === "https:" || protocol === "http:";
}

// ../../src/vision/resolve-images.ts
function hasImages(request) {
  for (const { content } of request.messages) {
    if (typeof content === "string") continue;
    for (const part of content) if (part.type === "image") return true;
  }
  return false;
}
async function resolveImages(request, limits, readFile = readImageFile) {
  const issues = [];
  let messages;
  for (const [index, message] of request.messages.entries()) {
    if (typeof message.content === "string") continue;
    const check = { limits, readFile, issues, path: `messages[${index}].content` };
    const content = await resolveParts(message.content, message.role === "system", check);
    if (content === message.content) continue;
    messages ??= [...request.messages];
    messages[index] = { ...message, content };
  }
  if (issues.length > 0) throw new ValidationError("invalid_request", issues);
  return messages === void 0 ? request : { ...request, messages };
}
async function resolveParts(parts, inSystem, { limits, readFile, issues, path }) {
  let resolved;
  for (const [index, part] of parts.entries()) {
    if (part.type !== "image") continue;
    const outcome = inSystem ? { problem: "is an image, and a system message holds text only" } : await resolveImage(part.image, limits, readFile);
    if (outcome.problem !== void 0) {
      issues.push({ path: `${path}[${index}]`, problem: outcome.problem });
    } else if (outcome.image !== part.image) {
      resolved ??= [...parts];
      resolved[index] = { ...part, image: outcome.image };
    }
  }
  return resolved ?? parts;
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
  return families.find(([name]) => name.test(model))?.[1] ?? unknownFamily;
}
function wireEffort(effort, family) {
  const { efforts: efforts2 } = family;
  if (efforts2 === void 0) return effort;
  const wanted = effortScale.indexOf(effort);
  let best;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of efforts2) {
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
function strictSchema(schema2) {
  const kept = {};
  const moved = [];
  for (const [key, value] of Object.entries(schema2)) {
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
    const { description } = schema2;
    const lead = typeof description === "string" ? `${description}

` : "";
    kept["description"] = `${lead}{${moved.join(", ")}}`;
  }
  if (!isObjectSchema(schema2)) return kept;
  const anything = schema2["properties"] === void 0 && schema2["additionalProperties"] !== false;
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
  const schema2 = asObject(value);
  return schema2 === void 0 ? void 0 : strictSchema(schema2);
}
function strictMembers(members2) {
  const values = allOrNothing(Object.values(members2).map(strictItem));
  if (values === void 0) return void 0;
  return Object.fromEntries(Object.keys(members2).map((name, at) => [name, values[at] ?? {}]));
}
function allOrNothing(values) {
  const present = values.filter((value) => value !== void 0);
  return present.length === values.length ? present : void 0;
}
function isObjectSchema(schema2) {
  const { type, properties } = schema2;
  return type === "object" || asList(type).includes("object") || properties !== void 0;
}
function closed(schema2) {
  const properties = asObject(schema2["properties"]) ?? {};
  const required = asList(schema2["required"]);
  if (Object.keys(properties).some((name) => !required.includes(name))) return void 0;
  return { ...schema2, properties, required, additionalProperties: false };
}

// ../../src/providers/openai/render-schemas.ts
function renderSchemas({ tools, responseFormat }) {
  const dropped2 = [];
  const enforce = (schema2, strict, place) => {
    const enforced = strict === true ? strictSchema(schema2) : void 0;
    if (strict === true && enforced === void 0) dropped2.push(place);
    return { schema: enforced ?? schema2, strict: strict === true ? enforced !== void 0 : strict };
  };
  const renderTool4 = (tool) => {
    const { schema: schema2, strict } = enforce(tool.schema, tool.strict, `tools.${tool.name}.strict`);
    return defined({
      name: tool.name,
      description: tool.description === "" ? void 0 : tool.description,
      parameters: schema2,
      strict
    });
  };
  const renderFormat3 = (format) => {
    if (format.type === "text") return void 0;
    if (format.type === "json_object") return { type: "json_object" };
    const { schema: schema2, strict } = enforce(format.schema, format.strict, "responseFormat.strict");
    return { type: "json_schema", name: format.name, schema: schema2, strict: strict === true };
  };
  return {
    tools: tools.map(renderTool4),
    format: responseFormat === void 0 ? void 0 : renderFormat3(responseFormat),
    dropped: dropped2
  };
}

// ../../src/providers/openai/render-options.ts
function sharedParameters(request, { family, sessionId }) {
  const { reasoning, temperature } = request;
  const effort = reasoning === void 0 ? void 0 : wireEffort(reasoning.effort, family);
  const refused2 = temperature !== void 0 && refusesTemperature(family, effort);
  const silent = reasoning !== void 0 && reasoning.effort !== "none" && effort === void 0;
  const schemas = renderSchemas(request);
  return {
    ...schemas,
    temperature: refused2 ? void 0 : temperature,
    effort,
    cache: cacheParameters(request.promptCache, sessionId),
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
function partsOf(message) {
  const { content } = message;
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
function textAlone(message, provider) {
  if (partsOf(message).some((part) => part.type === "image")) {
    const problem = 'Chat Completions takes no images in tool results; api: "responses" does';
    throw new AdapterError("unsupported_feature", problem, { provider });
  }
  return messageText(message);
}
function imageAddress(image, provider) {
  switch (image.type) {
    case "url":
      return image.url;
    case "base64":
      return `data:${image.mimeType};base64,${image.base64}`;
    case "file":
      throw new AdapterError("unsupported_feature", `the image ${image.path} was not read`, {
        provider
      });
    default:
      return assertNever(image);
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
function renderChatMessages(messages, options) {
  const ids = toolIds();
  return messages.map((message) => renderMessage(message, options, ids));
}
function renderMessage(message, options, ids) {
  const { role, name } = message;
  switch (role) {
    case "system":
      return defined({
        role: options.family.reasons ? "developer" : "system",
        content: messageText(message),
        name
      });
    case "user":
      return defined({ role, content: renderUserContent(message, options), name });
    case "assistant":
      return renderAssistant(message, options, ids);
    case "tool":
      return renderToolResult(message, options, ids);
    default:
      return assertNever(role);
  }
}
function renderUserContent(message, { provider }) {
  const parts = partsOf(message).filter((part) => part.type !== "reasoning");
  const [only] = parts;
  if (parts.length === 1 && only?.type === "text") return only.text;
  return parts.map(
    (part) => part.type === "text" ? { type: "text", text: part.text } : {
      type: "image_url",
      image_url: defined({
        url: imageAddress(part.image, provider),
        detail: part.detail
      })
    }
  );
}
function renderAssistant(message, { provider }, ids) {
  const calls = message.toolCalls ?? [];
  const parts = partsOf(message);
  const text3 = messageText(message);
  const onlyImages = text3 === "" && parts.some((part) => part.type === "image");
  return defined({
    role: "assistant",
    content: onlyImages ? "[image]" : text3 === "" && calls.length > 0 ? null : text3,
    name: message.name,
    tool_calls: calls.length === 0 ? void 0 : calls.map((call) => renderCall(call, ids)),
    ...calls.length === 0 ? {} : echoReasoning(parts, provider)
  });
}
function echoReasoning(parts, provider) {
  const echo = {};
  for (const part of parts) {
    if (part.type !== "reasoning" || part.provider !== provider) continue;
    const opaque = asObject(part.opaque);
    const field = opaque?.["field"];
    if (field === "reasoning_content" || field === "reasoning") {
      const before = echo[field];
      echo[field] = typeof before === "string" ? `${before}

${part.text}` : part.text;
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
function renderToolResult(message, { provider }, ids) {
  const content = textAlone(message, provider);
  return { role: "tool", tool_call_id: ids.result(message.toolCallId), content };
}

// ../../src/providers/openai/chat/render-chat.ts
function renderChat(request, options) {
  const { temperature, effort, cache, tools, format, dropped: dropped2 } = sharedParameters(request, options);
  const { toolChoice } = request;
  const { family, stream } = options;
  const body = defined({
    model: request.model,
    messages: renderChatMessages(request.messages, options),
    temperature,
    [family.maxTokensField]: request.maxTokens,
    tools: tools.length === 0 ? void 0 : tools.map(renderTool),
    tool_choice: tools.length === 0 || toolChoice === void 0 ? void 0 : renderChoice(toolChoice),
    response_format: format === void 0 ? void 0 : renderFormat(format),
    reasoning_effort: effort,
    ...cache,
    ...stream ? { stream, stream_options: { include_usage: true } } : {}
  });
  const unheard = request.reasoning?.summary === true && !dropped2.includes("reasoning");
  return {
    path: "/chat/completions",
    body,
    dropped: unheard ? [...dropped2, "reasoning.summary"] : dropped2
  };
}
function renderTool({ strict, ...tool }) {
  return { type: "function", function: strict === true ? { ...tool, strict } : tool };
}
function renderChoice(choice) {
  return choice === "auto" || choice === "none" || choice === "required" ? choice : { type: "function", function: { name: choice } };
}
function renderFormat({ type = "", ...format }) {
  return type === "json_schema" ? { type, json_schema: format } : { type };
}

// ../../src/providers/openai/responses/render-input.ts
function renderInput(messages, options) {
  const ids = toolIds();
  return messages.flatMap((message) => renderMessage2(message, options, ids));
}
function renderMessage2(message, options, ids) {
  const { role } = message;
  switch (role) {
    case "system":
      return [
        { role: options.family.reasons ? "developer" : "system", content: messageText(message) }
      ];
    case "user":
      return [{ role, content: renderContent(message, options) }];
    case "assistant":
      return renderAssistant2(message, options, ids);
    case "tool":
      return [
        {
          type: "function_call_output",
          call_id: ids.result(message.toolCallId),
          output: renderContent(message, options)
        }
      ];
    default:
      return assertNever(role);
  }
}
function renderContent(message, { provider }) {
  const parts = partsOf(message).filter((part) => part.type !== "reasoning");
  const [only] = parts;
  if (parts.length === 0) return "";
  if (parts.length === 1 && only?.type === "text") return only.text;
  return parts.map(
    (part) => part.type === "text" ? { type: "input_text", text: part.text } : {
      type: "input_image",
      image_url: imageAddress(part.image, provider),
      detail: part.detail ?? "auto"
    }
  );
}
function renderAssistant2(message, options, ids) {
  const calls = (message.toolCalls ?? []).map((call) => renderCall2(call, ids));
  const items = [];
  let rendered = 0;
  for (const part of partsOf(message)) {
    const before = part.type === "reasoning" ? asObject(part.opaque)?.["calls_before"] : void 0;
    const due = Math.max(rendered, asCount(before) ?? 0);
    items.push(...calls.slice(rendered, due));
    rendered = due;
    const item = renderPart(part, options);
    if (item !== void 0) items.push(item);
  }
  return [...items, ...calls.slice(rendered)];
}
function renderPart(part, options) {
  switch (part.type) {
    case "text":
      return part.text === "" ? void 0 : said(part.text);
    case "image":
      return renderOwnImage(part);
    case "reasoning":
      return renderReasoning(part, options);
    default:
      return assertNever(part);
  }
}
function said(text3) {
  return { type: "message", role: "assistant", content: text3 };
}
function renderOwnImage({ image }) {
  const id = asText(image.metadata?.["id"]);
  if (image.type !== "base64" || id === void 0) return said("[image]");
  return { type: "image_generation_call", id, status: "completed", result: image.base64 };
}
function renderReasoning(part, { provider, family, stored }) {
  const opaque = asObject(part.opaque);
  const id = asText(opaque?.["id"]);
  const encrypted = asText(opaque?.["encrypted_content"]);
  if (part.provider !== provider || id === void 0) return void 0;
  const refused2 = !family.reasons && family.efforts !== void 0;
  if (refused2 || encrypted === void 0 && !stored) return void 0;
  return defined({
    type: "reasoning",
    id,
    summary: part.text === "" ? [] : [{ type: "summary_text", text: part.text }],
    encrypted_content: encrypted
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
function renderResponses(request, options) {
  const { temperature, effort, cache, tools, format, dropped: dropped2 } = sharedParameters(request, options);
  const { toolChoice, maxTokens } = request;
  const { family, stream } = options;
  const summary = request.reasoning?.summary === true && !dropped2.includes("reasoning");
  const body = defined({
    model: request.model,
    input: renderInput(request.messages, options),
    temperature,
    max_output_tokens: maxTokens,
    tools: tools.length === 0 ? void 0 : tools.map(renderTool2),
    tool_choice: tools.length === 0 || toolChoice === void 0 ? void 0 : renderChoice2(toolChoice),
    text: format === void 0 ? void 0 : { format },
    reasoning: effort === void 0 && !summary ? void 0 : defined({ effort, summary: summary ? "auto" : void 0 }),
    store: false,
    include: family.reasons ? ["reasoning.encrypted_content"] : void 0,
    ...cache,
    ...stream ? { stream } : {}
  });
  return { path: "/responses", body, dropped: dropped2 };
}
function renderTool2(tool) {
  return { type: "function", strict: false, ...tool };
}
function renderChoice2(choice) {
  return choice === "auto" || choice === "none" || choice === "required" ? choice : { type: "function", name: choice };
}

// ../../src/providers/openai/render-request.ts
function renderRequest(request, context) {
  const { provider, endpoint, stream } = context;
  if (request.model === void 0 || request.model === "") {
    throw new EngineError("missing_model", `${provider} needs a model`, { provider });
  }
  const { openai: openai2 } = request.providerOptions;
  const own = provider === "openai" ? void 0 : request.providerOptions[provider];
  const over = mergeBody(openai2 ?? {}, own);
  const options = {
    ...context,
    family: modelFamily(request.model),
    stored: over["store"] === true
  };
  const rendered = endpoint === "chat" ? renderChat(request, options) : renderResponses(request, options);
  const body = mergeBody(rendered.body, over);
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
async function prepareCall(settings, request, { context, notes, apiKey, ...options }) {
  const { provider, stream } = context;
  const { requestId } = notes;
  const sendable = hasImages(request) ? await resolveImages(request, { provider, ...imageLimits }) : request;
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
function startCall(draft, item, wire, out) {
  const id = asText(wire["call_id"]);
  const name = asText(wire["name"]);
  if (id !== void 0 && name !== void 0) announce(draft, item, { id, name }, out);
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
  const whole = asText(wire["arguments"]);
  if (item.text === "" && whole !== void 0) growCall2(item, whole, out);
  const done = { id: call.id, name: call.name, ...parseArguments(whole ?? item.text) };
  draft.calls[call.slot] = done;
  out.push({ type: "tool_call_completed", call: done });
}
function announce(draft, item, { id, name }, out) {
  begin(draft, out);
  const slot = draft.calls.push({ id, name, arguments: {} }) - 1;
  item.call = { slot, id, name };
  out.push({ type: "tool_call_started", id, name });
  if (item.text !== "") out.push({ type: "tool_call_delta", id, argumentsDelta: item.text });
}

// ../../src/providers/openai/responses/generated-image.ts
function generatedImage(wire) {
  const base64 = asText(wire["result"]);
  if (wire["type"] !== "image_generation_call" || base64 === void 0) return void 0;
  const id = asText(wire["id"]);
  return defined({
    type: "base64",
    base64,
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
function growReasoning(draft, item, { part, delta }, out) {
  openReasoning(draft, item, out);
  const said2 = part !== item.part && item.text !== "" ? gap + delta : delta;
  item.part = part;
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
function texts(parts) {
  return asList(parts).flatMap((part) => asText(asObject(part)?.["text"]) ?? []);
}

// ../../src/providers/openai/responses/text-item.ts
function openText(draft, item, { contentIndex, refusal: refusal2 }, out) {
  const known2 = item.texts.get(contentIndex);
  if (known2 !== void 0) return known2;
  begin(draft, out);
  const slot = draft.parts.push({ type: "text", text: "" }) - 1;
  const block = { slot, index: item.index, refusal: refusal2, text: "", done: false };
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
    const part = asObject(value) ?? {};
    const refusal2 = part["type"] === "refusal";
    const whole = asText(refusal2 ? part["refusal"] : part["text"]);
    if (whole !== void 0) {
      endText(draft, openText(draft, item, { contentIndex, refusal: refusal2 }, out), whole, out);
    }
    noteList(draft, "annotations", part["annotations"]);
    noteList(draft, "logprobs", part["logprobs"]);
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
    textDelta(event, refusal2, out) {
      const delta = event["delta"];
      if (typeof delta !== "string" || delta === "") return;
      growText(draft, textOf(output, event, refusal2, out), delta, out);
    },
    textDone(event, refusal2, out) {
      const whole = asText(event[refusal2 ? "refusal" : "text"]);
      if (whole !== void 0) endText(draft, textOf(output, event, refusal2, out), whole, out);
    },
    reasoningDelta(event, out) {
      const delta = asText(event["delta"]);
      const part = asCount(event["summary_index"] ?? event["content_index"]) ?? 0;
      if (delta === void 0) return;
      growReasoning(draft, itemOfEvent(output, event), { part, delta }, out);
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
      startCall(draft, itemOfEvent(output, event), wire, out);
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
function textOf(output, event, refusal2, out) {
  const item = event["output_index"] ?? event["item_id"];
  const part = event["content_index"];
  const { writing } = output;
  if (writing !== void 0 && item === output.writingItem && part === output.writingPart) {
    return writing;
  }
  const place = { contentIndex: asCount(part) ?? 0, refusal: refusal2 };
  const block = openText(output.draft, itemOfEvent(output, event), place, out);
  output.writing = block;
  output.writingItem = item;
  output.writingPart = part;
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
      const image = generatedImage(wire);
      if (image === void 0) noteList(draft, "items", [wire]);
      else addImage2(draft, image, out);
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
  for (const name of ["incomplete_details", "service_tier"]) {
    const value = response[name];
    if (value !== void 0 && value !== null) draft.metadata[name] = value;
  }
}

// ../../src/providers/openai/open-call.ts
function openCall(settings, request, options, stream) {
  const { provider } = settings;
  const endpoint = endpointFor(settings.api, request.model);
  const decoding = decoderOptions(provider, options);
  const { notes } = decoding;
  const context = { provider, endpoint, stream, sessionId: options.sessionId };
  return {
    source: () => prepareCall(settings, request, { ...options, context, notes }),
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
    stream(request, callOptions = {}) {
      const { source, decoder } = openCall(settings, request, callOptions, true);
      return streamSse(source, decoder);
    },
    async generate(request, callOptions = {}) {
      const { source, decoder } = openCall(settings, request, callOptions, false);
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
  for (const [name, value] of Object.entries(options.headers ?? {}))
    headers[name.toLowerCase()] = value;
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
  const retry = headers.get("x-should-retry");
  return defined({
    ...parseError(error, reason, `the provider answered ${status}`),
    retryAfterMs: retryAfterMs(headers),
    retryable: retry === "true" || retry === "false" ? retry === "true" : void 0,
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
  const message = typeof error?.message === "string" && error.message !== "" ? error.message : fallback;
  const reason = known2 ?? byType.get(error?.type ?? "") ?? "unknown";
  return { reason: byWords(message, reason), message };
}
function byWords(message, reason) {
  if (reason !== "invalid_request" && reason !== "provider_unavailable") return reason;
  if (/content filtering policy/i.test(message)) return "content_filter";
  const isTooLong = /prompt is too long|context (?:window|length|limit|size)/i.test(message);
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
    const message = `no key for ${provider}: pass apiKey, or set one`;
    throw new EngineError("missing_key", message, { provider, requestId });
  }
  const headers = { ...key === void 0 ? {} : { "x-api-key": key }, ...settings.headers };
  answer2.clean = secretFilter(headers);
  const { signal, requestTimeoutMs, streamTimeoutMs, clock } = options;
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
    signal,
    requestId,
    requestTimeoutMs,
    streamTimeoutMs,
    clock
  };
}

// ../../src/providers/anthropic/is-object.ts
function isObject(value) {
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
  if (key === "tool_choice" && isObject(theirs)) return { type: "auto", ...sameKind(ours, theirs) };
  return isObject(theirs) ? sameKind(ours, theirs) : theirs;
}
function sameKind(ours, theirs) {
  const differ = isObject(ours) && "type" in theirs && ours["type"] !== theirs["type"];
  return isObject(ours) && !differ ? { ...ours, ...theirs } : theirs;
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
  const name = model.toLowerCase();
  if (!name.includes("claude")) return compatible;
  const found = versionPattern.exec(name);
  const family = /opus|sonnet|haiku|fable|mythos/.exec(name)?.[0] ?? "any";
  if (found === null) return name.includes("mythos-preview") ? alwaysThinking : newest;
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
    ...isObject(caller) && caller["type"] !== "direct" ? { caller } : {},
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
function echoedBlock(part, provider) {
  const { opaque } = part;
  if (part.provider !== provider || !isObject(opaque)) return void 0;
  const { signature, redacted, block, toolCalls } = opaque;
  const before = typeof toolCalls === "number" ? toolCalls : 0;
  if (typeof signature === "string") {
    return { block: { type: "thinking", thinking: part.text, signature }, toolCalls: before };
  }
  if (typeof redacted === "string") {
    return { block: { type: "redacted_thinking", data: redacted }, toolCalls: before };
  }
  return isObject(block) ? { block, toolCalls: before } : void 0;
}

// ../../src/providers/anthropic/render-blocks.ts
function renderContent2(content) {
  if (typeof content === "string") return renderText(content);
  const blocks = [];
  for (const part of content) {
    if (part.type === "text") blocks.push(...renderText(part.text));
    else if (part.type === "image") blocks.push(renderImage(part.image));
  }
  return blocks;
}
function renderText(text3) {
  return text3.trim() === "" ? [] : [{ type: "text", text: text3 }];
}
function renderImage(image) {
  switch (image.type) {
    case "base64": {
      const { base64: data, mimeType: media_type } = image;
      return { type: "image", source: { type: "base64", media_type, data } };
    }
    case "url":
      return { type: "image", source: { type: "url", url: image.url } };
    case "file":
      throw new ValidationError("invalid_image", [{ path: image.path, problem: "was not read" }]);
    default:
      return assertNever(image);
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
function wireName(name, fallback) {
  if (/^[\w-]+$/.test(name)) return name;
  return name === "" ? fallback : name.replaceAll(/[^\w-]/g, "_");
}

// ../../src/providers/anthropic/render-assistant.ts
function renderAssistant3(message, context) {
  const { content, toolCalls = [] } = message;
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const answered = answeredServerTools(parts, context);
  const blocks = [];
  let placed = 0;
  const placeCalls = (until) => {
    for (const call of toolCalls.slice(placed, until)) blocks.push(renderCall3(call, context.ids));
    placed = Math.max(placed, until);
  };
  for (const part of parts) {
    if (part.type === "text") blocks.push(...renderText(part.text));
    if (part.type !== "reasoning") continue;
    const echo = echoedBlock(part, context.provider);
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
function answeredServerTools(parts, { provider }) {
  const answered = /* @__PURE__ */ new Set();
  for (const part of parts) {
    if (part.type === "reasoning") answered.add(echoedBlock(part, provider)?.block["tool_use_id"]);
  }
  return answered;
}
function renderCall3(call, ids) {
  const block = {
    type: "tool_use",
    id: ids.call(call.id),
    name: wireName(call.name, "unnamed"),
    input: renderInput2(call)
  };
  return isObject(call.opaque) ? { ...block, ...callFields(call.opaque) } : block;
}
function renderInput2({ arguments: input, rawArguments = "" }) {
  if (Object.keys(input).length > 0 || parseArguments2(rawArguments) !== void 0) return input;
  return { INVALID_JSON: rawArguments };
}

// ../../src/providers/anthropic/render-messages.ts
var continuation = "Continue.";
function renderMessages(messages, context) {
  const system = messages.filter(({ role }) => role === "system").map(messageText);
  const turns = renderTurns(
    messages.filter(({ role }) => role !== "system"),
    context.provider
  );
  const alone = turns.length === 0 ? system.pop() ?? "" : "";
  if (alone !== "") turns.push({ role: "user", content: [...renderContent2(alone)] });
  if (turns.length === 0) {
    const problem = "has nothing to send: every message is empty";
    throw new ValidationError("invalid_request", [{ path: "messages", problem }]);
  }
  endTurns(turns, context.prefill);
  const lifted2 = system.filter((text3) => text3.trim() !== "").join("\n\n");
  return {
    ...lifted2 === "" ? {} : { system: lifted2 },
    messages: turns.map(toWire)
  };
}
function renderTurns(messages, provider) {
  const turns = [];
  const ids = toolIds2();
  const toolsets = /* @__PURE__ */ new Map();
  messages.forEach((message, index) => {
    switch (message.role) {
      case "user":
        say(turns, "user", renderContent2(message.content));
        return;
      case "tool": {
        const id = message.toolCallId ?? "";
        const { toolset_name } = toolsets.get(id) ?? {};
        const block = {
          type: "tool_result",
          tool_use_id: ids.result(id),
          ...resultContent(message)
        };
        answer(turns, toolset_name === void 0 ? block : { ...block, toolset_name });
        return;
      }
      case "assistant": {
        const isLast = index === messages.length - 1;
        say(turns, "assistant", renderAssistant3(message, { provider, ids, isLast }));
        for (const { id, opaque } of message.toolCalls ?? []) {
          toolsets.set(id, isObject(opaque) ? callFields(opaque) : {});
        }
        say(turns, "user", assistantImages(message));
        return;
      }
      case "system":
        return;
      default:
        assertNever(message.role);
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
  const { content } = last;
  const at = content.findIndex(({ type }) => type !== "tool_result");
  content.splice(at === -1 ? content.length : at, 0, block);
}
function resultContent({ content }) {
  if (typeof content === "string") return content.trim() === "" ? {} : { content };
  const blocks = renderContent2(content);
  return blocks.length === 0 ? {} : { content: blocks };
}
function assistantImages({ content }) {
  if (typeof content === "string") return [];
  return content.flatMap((part) => part.type === "image" ? [renderImage(part.image)] : []);
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
function toWire({ role, content }) {
  const [only] = content;
  const { type, text: text3 } = only ?? {};
  return content.length === 1 && type === "text" && text3 !== void 0 ? { role, content: text3 } : { role, content };
}

// ../../src/providers/anthropic/render-reasoning.ts
var efforts = {
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
    if (forced) return { effort: efforts[effort], adjusted: true };
    const thinking = { type: "adaptive", ...renderDisplay(reasoning) };
    return { thinking, effort: efforts[effort], adjusted: false };
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
function strictSchema2(schema2) {
  const kept = {};
  const moved = [];
  for (const [key, value] of Object.entries(schema2)) {
    const strict = strictKeyword(key, value);
    if (strict !== void 0) kept[strict[0]] = strict[1];
    else if (!dropped.has(key)) moved.push(`${key}: ${JSON.stringify(value)}`);
  }
  if (isObjectSchema2(schema2)) {
    kept["additionalProperties"] = false;
    kept["properties"] ??= {};
  }
  if (moved.length > 0) {
    const { description } = schema2;
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
      return isObject(value) ? [key, strictSchema2(value)] : void 0;
    case "properties":
    case "$defs":
    case "definitions":
      return isObject(value) ? [key, strictMembers2(value)] : void 0;
    default:
      return void 0;
  }
}
function strictList(value) {
  return Array.isArray(value) ? value.map((item) => strictItem2(item)) : value;
}
function strictMembers2(members2) {
  return Object.fromEntries(Object.entries(members2).map(([name, item]) => [name, strictItem2(item)]));
}
function strictItem2(item) {
  return isObject(item) ? strictSchema2(item) : item;
}
function isPrimitive(value) {
  return value === null || typeof value !== "object";
}
function isObjectSchema2({ type, properties }) {
  return type === "object" || Array.isArray(type) && type.includes("object") || isObject(properties);
}

// ../../src/providers/anthropic/render-tools.ts
function renderTools(request, traits, structured) {
  const tools = request.tools.map((tool) => renderTool3(tool, traits.structuredOutput));
  if (structured.by === "tool") return withAnswerTool(request, tools, structured.tool);
  if (tools.length === 0) return withoutTools(request);
  const choice = renderChoice3(request.toolChoice);
  const forced = choice !== void 0 && choice["type"] !== "none";
  const dropped2 = forced && !traits.forcedTools;
  return defined({
    tools,
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
function renderTool3({ name, description, schema: schema2, strict }, canBeStrict) {
  const isStrict = strict === true && canBeStrict;
  const input_schema = { ...isStrict ? strictSchema2(schema2) : schema2, type: "object" };
  return {
    name,
    ...description === "" ? {} : { description },
    input_schema,
    ...isStrict ? { strict: true } : {}
  };
}
function withAnswerTool({ toolChoice = "auto" }, tools, { name, description, schema: schema2 }) {
  const rendered = { forced: true, dropped: false };
  const all = [...tools, { name, description, input_schema: schema2 }];
  if (tools.length === 0 || toolChoice === "none") {
    return { ...rendered, tools: all, toolChoice: { type: "tool", name } };
  }
  if (toolChoice === "auto") return { ...rendered, tools: all, toolChoice: { type: "any" } };
  return defined({ ...rendered, tools, toolChoice: renderChoice3(toolChoice) });
}
function withoutTools({ messages, providerOptions }) {
  const rendered = { forced: false, dropped: false };
  const names = /* @__PURE__ */ new Set();
  for (const { toolCalls = [] } of messages) {
    for (const { name } of toolCalls) names.add(wireName(name, "unnamed"));
  }
  if (names.size === 0 || providerOptions.anthropic?.["tools"] !== void 0) return rendered;
  const tools = Array.from(names, (name) => ({ name, input_schema: { type: "object" } }));
  return { ...rendered, tools, toolChoice: { type: "none" } };
}

// ../../src/providers/anthropic/structured-output.ts
function structuredOutput({ responseFormat, tools, model }, traits) {
  if (responseFormat === void 0 || responseFormat.type === "text") return { by: "nothing" };
  const isSchema = responseFormat.type === "json_schema";
  if (isSchema && traits.structuredOutput) {
    const schema3 = strictSchema2(responseFormat.schema);
    return { by: "format", format: { type: "json_schema", schema: schema3 } };
  }
  if (!traits.forcedTools) {
    const message = `${model} has no JSON mode without a schema; give responseFormat a jsonSchema(\u2026)`;
    throw new EngineError("unsupported_response_format", message);
  }
  let name = isSchema ? `respond_with_${responseFormat.name}` : "respond_with_json";
  name = name.replaceAll(/[^\w-]/g, "_").slice(0, 60);
  while (tools.some((tool) => tool.name === name)) name += "_";
  const schema2 = isSchema ? responseFormat.schema : { type: "object" };
  return { by: "tool", tool: answerTool(name, schema2) };
}
function answerTool(name, schema2) {
  const description = "Gives the final answer. Call it when the answer is ready, with the answer as its input.";
  if (schema2["type"] === "object") return { name, description, schema: schema2, wrapped: false };
  const { $defs, definitions, ...value } = schema2;
  const wrapper = {
    type: "object",
    properties: { value },
    required: ["value"]
  };
  if ($defs !== void 0) wrapper["$defs"] = $defs;
  if (definitions !== void 0) wrapper["definitions"] = definitions;
  return { name, description, schema: wrapper, wrapped: true };
}
function unwrapAnswer(text3) {
  try {
    const parsed = JSON.parse(text3);
    const value = isObject(parsed) ? parsed["value"] : void 0;
    return value === void 0 ? text3 : JSON.stringify(value);
  } catch {
    return text3;
  }
}

// ../../src/providers/anthropic/render-request.ts
var withoutSampling = "2026-10-21";
function renderRequest2(request, context) {
  const { model } = request;
  if (model === void 0) {
    const { provider } = context;
    throw new EngineError("missing_model", `${provider} needs a model`, { provider });
  }
  const traits = modelTraits(model);
  const structured = structuredOutput(request, traits);
  const { maxTokens = traits.maxTokens } = request;
  const { tools, toolChoice, forced, dropped: dropped2 } = renderTools(request, traits, structured);
  const { thinking, effort, adjusted } = renderReasoning2(request.reasoning, {
    traits,
    maxTokens,
    forced
  });
  const isThinking2 = thinking?.["type"] === "enabled" || thinking?.["type"] === "adaptive";
  const prefill = traits.prefill && !isThinking2;
  const { system, messages } = renderMessages(request.messages, { ...context, prefill });
  const sampling = traits.sampling && context.version < withoutSampling && !isThinking2;
  const temperature = sampling ? renderTemperature(request) : void 0;
  const body = defined({
    model,
    max_tokens: maxTokens,
    system,
    messages,
    temperature,
    tools,
    tool_choice: toolChoice,
    thinking,
    output_config: outputConfig(effort, structured.by === "format" ? structured.format : void 0),
    cache_control: cacheControl(request.promptCache)
  });
  return defined({
    body: withProviderOptions(body, request, context.provider),
    answerTool: structured.by === "tool" ? structured.tool : void 0,
    adjusted: [
      ...temperature === request.temperature ? [] : ["temperature"],
      ...dropped2 ? ["toolChoice"] : [],
      ...adjusted ? ["reasoning"] : []
    ]
  });
}
function renderTemperature({ temperature }) {
  return temperature === void 0 ? void 0 : Math.min(temperature, 1);
}
function withProviderOptions(body, { providerOptions }, provider) {
  const merged2 = mergeOptions(body, providerOptions.anthropic ?? {});
  return provider === "anthropic" ? merged2 : mergeOptions(merged2, providerOptions[provider] ?? {});
}
function outputConfig(effort, format) {
  if (effort === void 0 && format === void 0) return void 0;
  return defined({ effort, format });
}
function cacheControl(promptCache) {
  if (promptCache === void 0) return void 0;
  const isLong = promptCache !== true && promptCache.retention === "long";
  return { type: "ephemeral", ...isLong ? { ttl: "1h" } : {} };
}

// ../../src/providers/anthropic/call-for.ts
var maxImageBytes = 10 * 1024 * 1024 * 3 / 4;
var mimeTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];
async function callFor(plan, stream) {
  const { settings, options, answer: answer2 } = plan;
  const { provider } = settings;
  const limits = { provider, maxBytes: maxImageBytes, mimeTypes };
  const request = hasImages(plan.request) ? await resolveImages(plan.request, limits) : plan.request;
  const { body, answerTool: answerTool2, adjusted } = renderRequest2(request, settings);
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
function completeReasoning({ call }, block, echo, out) {
  const { index, callsBefore } = block;
  const text3 = block.kind === "thinking" ? block.text : "";
  const toolCalls = callsBefore === 0 ? void 0 : callsBefore;
  const opaque = echo === void 0 ? void 0 : { ...echo, ...defined({ toolCalls }) };
  const { provider } = call;
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
  const call = defined({
    id,
    name: block.head.name ?? "",
    arguments: parseArguments2(rawArguments) ?? {},
    rawArguments,
    opaque: Object.keys(opaque).length === 0 ? void 0 : opaque
  });
  block.call = call;
  out.push({ type: "tool_call_completed", call });
}
function completeAnswer({ call, metadata }, block, out) {
  const raw = inputText(block);
  const wrapped = call.answerTool?.wrapped === true;
  const text3 = wrapped ? unwrapAnswer(raw) : raw;
  if (wrapped || block.text === "") {
    out.push({ type: "text_delta", delta: text3, index: block.index });
  }
  metadata["structuredOutput"] = "tool";
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
function kindOf({ type = "", name }, answerTool2) {
  switch (type) {
    case "text":
    case "thinking":
      return type;
    case "redacted_thinking":
      return "redacted";
    case "tool_use":
      return name !== void 0 && name === answerTool2 ? "answer" : "tool";
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
  for (const [name, value] of Object.entries(delta)) {
    if (name === "type") continue;
    const known2 = fields[name] ?? head[name];
    const grows2 = typeof value === "string" && typeof known2 === "string";
    fields[name] = grows2 ? known2 + value : value;
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
  for (const [name, value] of Object.entries(later ?? {})) if (value !== null) merged2[name] = value;
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
    reasoningTokens: isObject(output_tokens_details) ? count2(output_tokens_details["thinking_tokens"]) : void 0,
    extra: Object.keys(extra).length === 0 ? void 0 : extra
  });
}
function count2(value) {
  return typeof value === "number" ? value : void 0;
}

// ../../src/providers/anthropic/decode-message.ts
function startMessage2(state, message, out) {
  if (state.started) return;
  state.started = true;
  state.counts = mergeCounts(state.counts, message.usage);
  takeFacts(state, message);
  const { requestId, provider } = state.call;
  const { id, model, usage } = message;
  out.push(
    defined({
      type: "message_started",
      requestId,
      provider,
      id: id ?? void 0,
      model: model ?? void 0,
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
  const parts = state.blocks.flatMap(({ part }) => part ?? []);
  const calls = state.blocks.flatMap(({ call }) => call ?? []);
  const { stopReason, counts } = state;
  const metadata = responseMetadata(state);
  state.done = true;
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(parts, calls),
      finishReason: finishReason(state, calls.length),
      rawFinishReason: stopReason,
      usage: Object.keys(counts).length === 0 ? void 0 : parseUsage2(counts),
      metadata: Object.keys(metadata).length === 0 ? void 0 : metadata
    })
  );
}
function finishReason({ stopReason, metadata }, calls) {
  const reason = parseFinishReason(stopReason);
  if (reason === "tool_calls" && calls === 0 && metadata["structuredOutput"] === "tool")
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
function takeFacts({ metadata }, from) {
  for (const [wire, name] of factNames) {
    const value = from[wire];
    if (value !== void 0 && value !== null) metadata[name] = value;
  }
}
function responseMetadata({ call, metadata, citations, serverTools }) {
  const { adjusted, providerRequestId } = call;
  return defined({
    ...metadata,
    citations: citations.length === 0 ? void 0 : citations,
    serverTools: serverTools.length === 0 ? void 0 : serverTools,
    adjusted: adjusted.length === 0 ? void 0 : adjusted,
    providerRequestId
  });
}

// ../../src/providers/anthropic/whole-message.ts
function eventsOfMessage(value) {
  if (typeof value !== "object" || value === null) return void 0;
  const message = value;
  if (message.type === "error" || message.content === void 0 && message.error !== void 0) {
    return [{ ...message, type: "error" }];
  }
  const { content, stop_reason, ...head } = message;
  if (!Array.isArray(content)) return void 0;
  const blocks = content.flatMap((content_block, index) => [
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
    push(data, name, out) {
      if (data === "[DONE]" || data === "") return;
      const event = JSON.parse(data);
      if (typeof event !== "object" || event === null) return;
      const type = event.type ?? name ?? (event.error ? "error" : void 0);
      if (type === "message") takeWhole(state, event, out);
      else takeEvent2(state, event, type, out);
    },
    take: (event, out) => takeEvent2(state, event, event.type, out),
    end: () => void 0,
    failure: (error) => ({ type: "error", error })
  };
}
function takeWhole(state, message, out) {
  for (const event of eventsOfMessage(message) ?? []) takeEvent2(state, event, event.type, out);
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
  const { provider, requestId } = call;
  const { request_id } = event;
  const error = readError(event.error ?? event.message);
  const { reason, message } = parseStreamError(error);
  const metadata = errorFacts2(error, call.providerRequestId ?? request_id);
  return new AdapterError(reason, call.clean(message), { provider, requestId, metadata });
}

// ../../src/providers/anthropic/response-of.ts
function responseOf(value, status, answer2) {
  const events = eventsOfMessage(value);
  if (events === void 0) {
    const { provider, requestId } = answer2;
    const message = `${provider} answered ${status} with something that is no message`;
    throw new AdapterError("malformed_response", message, { provider, requestId, status });
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
    stream(request, callOptions = {}) {
      const answer2 = expectedAnswer(provider, callOptions);
      const plan = { settings, request, options: { ...callOptions, ownKey }, answer: answer2 };
      return streamSse(() => callFor(plan, true), messageDecoder(answer2));
    },
    async generate(request, callOptions = {}) {
      const answer2 = expectedAnswer(provider, callOptions);
      const plan = { settings, request, options: { ...callOptions, ownKey }, answer: answer2 };
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
  const message = `no key for ${provider}: give the call or the adapter an apiKey`;
  throw new EngineError("missing_key", message, { provider });
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
function loadImages(request, provider) {
  if (!hasImages(request)) return Promise.resolve(request);
  return resolveImages(request, { provider, maxBytes, mimeTypes: mimeTypes2 });
}

// ../../src/providers/gemini/method-url.ts
function methodUrl(settings, model, method) {
  const { provider, baseUrl } = settings;
  if (model === void 0 || model === "") {
    throw new EngineError("missing_model", `no model for ${provider}`, { provider });
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
function parseFailure3(provider, answer2) {
  const { status, body, headers } = answer2;
  const error = errorIn(parseBody2(body));
  if (error === void 0) {
    const message = `${provider} answered ${status} without an error that can be read`;
    return defined({
      reason: reasonOf3(status, ""),
      message,
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
function reasonOf3(status, message) {
  if (status === 400) return reasonOf400(message.toLowerCase());
  if (status === 401 || status === 403) return "authentication_failed";
  if (status === 408) return "timeout";
  if (status === 429) return "rate_limited";
  if (invalidRequest.has(status)) return "invalid_request";
  return status >= 500 ? "provider_unavailable" : "unknown";
}
function reasonOf400(message) {
  if (/api key (?:not valid|not found|expired|invalid)/.test(message)) {
    return "authentication_failed";
  }
  if (/exceeds the maximum number of tokens|input token count/.test(message)) {
    return "context_length_exceeded";
  }
  return message.includes("responsible ai practices") ? "content_filter" : "invalid_request";
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
function inside(place, ...keys) {
  let { path } = place;
  for (const key of keys) {
    path += typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  }
  return { ...place, path };
}
function inexpressible({ provider, path }, problem) {
  const message = `${provider} can not be told this schema: ${path} ${problem}`;
  return new AdapterError("unsupported_feature", message, { provider, metadata: { path } });
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
  for (const [name, schema2] of Object.entries(right)) {
    const known2 = result[name];
    const both = isJsonObject(known2) && isJsonObject(schema2);
    result[name] = both ? mergeSchemas(known2, schema2, inside(place, "properties", name)) : schema2;
  }
  return result;
}

// ../../src/providers/gemini/open-api-schema.ts
function openApiSchema(schema2, place) {
  const { nullable, type, choices } = alternatives(schema2, place);
  const [only] = choices;
  const alone = choices.length === 1 && only !== void 0;
  if (type === void 0 && choices.length === 0) {
    if (nullable) return { type: "NULL" };
    throw inexpressible(place, "admits values of any type");
  }
  return {
    ...alone ? only : {},
    ...typed(schema2, type, place),
    ...choices.length > 1 ? { anyOf: choices } : {},
    ...nullable ? { nullable: true } : {}
  };
}
function alternatives(schema2, place) {
  const { type, anyOf } = schema2;
  const written = (isJsonList(type) ? type : [type ?? typeByMembers(schema2)]).filter(
    (name) => typeof name === "string"
  );
  const types = written.filter((name) => name !== "null");
  const members2 = isJsonList(anyOf) ? anyOf.filter(isJsonObject) : [];
  const valued = members2.filter((member2) => member2["type"] !== "null");
  const nullable = schema2["nullable"] === true || types.length < written.length || valued.length < members2.length;
  if (valued.length === 0 && types.length < 2) return { nullable, type: types[0], choices: [] };
  if (valued.length === 0) {
    const choices2 = types.map((name) => openApiSchema(forType(shared(schema2), name), place));
    return { nullable, type: void 0, choices: choices2 };
  }
  const within2 = inside(place, "anyOf");
  const choices = valued.map((member2, index) => {
    const spot = inside(within2, index);
    return openApiSchema(mergeSchemas(shared(schema2), member2, spot), spot);
  });
  return { nullable, type: void 0, choices };
}
function typeByMembers(schema2) {
  if ("properties" in schema2) return "object";
  return "items" in schema2 || "prefixItems" in schema2 ? "array" : null;
}
function shared(schema2) {
  const { anyOf: _anyOf, nullable: _nullable, ...rest } = schema2;
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !annotations2.has(key)));
}
function forType(schema2, type) {
  const { enum: values, ...rest } = schema2;
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
function typed(schema2, type, place) {
  const result = {};
  const legal = type === void 0 ? [] : keywordsOf[type] ?? [];
  for (const [key, value] of Object.entries(schema2)) {
    if (annotations2.has(key) || legal.includes(key)) result[key] = value;
  }
  if (type === void 0) return result;
  result["type"] = type.toUpperCase();
  const { format } = schema2;
  if (typeof format === "string" && formatsOf[type]?.includes(format) === true) {
    result["format"] = format;
  }
  return {
    ...result,
    ...listed(schema2, type),
    ...type === "array" ? listMembers(schema2, place) : {},
    ...type === "object" ? objectMembers(schema2, place) : {}
  };
}
function listed({ enum: values, description }, type) {
  if (!isJsonList(values)) return {};
  if (type === "string") return { enum: values.map(String) };
  const words2 = `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
  return { description: typeof description === "string" ? `${description} (${words2})` : words2 };
}
function listMembers(schema2, place) {
  if (schema2["prefixItems"] !== void 0) throw inexpressible(place, "is a tuple");
  const { items } = schema2;
  if (!isJsonObject(items)) throw inexpressible(place, "is a list of values of any type");
  return { items: openApiSchema(items, inside(place, "items")) };
}
function objectMembers(schema2, place) {
  const { properties, required, additionalProperties } = schema2;
  if (isJsonObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    throw inexpressible(place, "has members whose names are not known");
  }
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return {};
  const members2 = Object.entries(properties).map(([name, member2]) => [
    name,
    isJsonObject(member2) ? openApiSchema(member2, inside(place, "properties", name)) : member2
  ]);
  const known2 = isJsonList(required) ? required.filter((name) => typeof name === "string" && Object.hasOwn(properties, name)) : [];
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
function plainSchema(schema2, place) {
  return visit(schema2, place, { root: schema2, refs: [], size: { nodes: 0 } });
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
  const name = JSON.stringify(ref);
  if (walk.refs.includes(name) || target === walk.root) {
    throw inexpressible(place, `is recursive: ${name} holds itself`);
  }
  return visit(target, place, { ...walk, refs: [...walk.refs, name] });
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
  const { properties, items, prefixItems, additionalProperties, anyOf, oneOf: oneOf2 } = node;
  if (anyOf !== void 0 && oneOf2 !== void 0) throw inexpressible(place, "has anyOf and oneOf");
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
  const choices = anyOf ?? oneOf2;
  if (choices !== void 0) result["anyOf"] = visitList(choices, inside(place, "anyOf"), walk);
  return withValues(result, node, place);
}
function visitProperties(properties, place, walk) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema2]) => [
      name,
      visit(schema2, inside(place, "properties", name), walk)
    ])
  );
}
function visitList(list, place, walk) {
  if (!isJsonList(list)) return [];
  return list.map((member2, index) => visit(member2, inside(place, index), walk));
}
function withValues(schema2, node, place) {
  const values = node["const"] === void 0 ? node["enum"] : [node["const"]];
  if (!isJsonList(values)) return schema2;
  const { type: written, ...rest } = schema2;
  const types = [...new Set(values.map((value) => typeOf(value, place)))];
  const type = written ?? oneOrAll(types);
  const listed2 = values.filter((value) => typeof value === "string" || typeof value === "number");
  if (listed2.length === 0 || types.includes("boolean")) return { ...rest, type };
  const valued = types.filter((name) => name !== "null");
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
function renderConfig(request, target) {
  const { temperature, maxTokens, responseFormat, reasoning } = request;
  return {
    ...defined({
      temperature,
      maxOutputTokens: maxTokens,
      thinkingConfig: reasoning && thinkingConfig(reasoning, target.family)
    }),
    ...responseFormat === void 0 ? {} : renderFormat2(responseFormat, target)
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
function wholePart(part) {
  return { part };
}
function echoOf({ text: text3, opaque }) {
  if (typeof opaque === "string") return { type: "thought", text: text3, signature: opaque };
  if (isJsonObject(opaque)) {
    const { thoughtSignature, on, part } = opaque;
    if (isJsonObject(part)) return { type: "part", part };
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
function renderImage2(image, path) {
  switch (image.type) {
    case "base64":
      return { inlineData: { mimeType: image.mimeType, data: image.base64 } };
    case "url": {
      const mimeType = image.mimeType ?? endings2.get(endingOf(image.url));
      return { fileData: { ...mimeType === void 0 ? {} : { mimeType }, fileUri: image.url } };
    }
    case "file": {
      const problem = "is a file that has not been read";
      throw new ValidationError("invalid_request", [{ path, problem }]);
    }
    default:
      return assertNever(image);
  }
}
function endingOf(url) {
  const path = /^[^?#]*/.exec(url)?.[0] ?? "";
  return path.slice(path.lastIndexOf(".") + 1).toLowerCase();
}

// ../../src/providers/gemini/render-assistant.ts
function renderAssistant4(message, path, target) {
  const { content, toolCalls = [] } = message;
  const parts = [];
  if (typeof content === "string") {
    if (content !== "") parts.push({ text: content });
  } else {
    for (const [index, part] of content.entries()) {
      if (part.type === "image") parts.push(renderImage2(part.image, `${path}.content[${index}]`));
      else if (part.type === "reasoning") {
        if (part.provider === target.provider) addReasoning(parts, part);
      } else if (part.text !== "") parts.push({ text: part.text });
    }
  }
  return [...parts, ...renderCalls(toolCalls, target)];
}
function addReasoning(parts, reasoning) {
  const echo = echoOf(reasoning);
  switch (echo.type) {
    case "thought": {
      const { text: text3, signature } = echo;
      if (text3 === "" && signature === void 0) return;
      const signed = signature === void 0 ? {} : { thoughtSignature: signature };
      parts.push({ text: text3, thought: true, ...signed });
      return;
    }
    case "signature": {
      const previous = parts.at(-1);
      const gone = previous === void 0 || "thought" in previous || "thoughtSignature" in previous;
      if (gone) parts.push({ text: "", thoughtSignature: echo.signature });
      else parts.splice(-1, 1, { ...previous, thoughtSignature: echo.signature });
      return;
    }
    case "part":
      parts.push(echo.part);
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
function renderResult({ message, path }, call, { family }) {
  const inside2 = [];
  const beside = [];
  const parts = typeof message.content === "string" ? [] : message.content;
  for (const [index, part] of parts.entries()) {
    if (part.type !== "image") continue;
    const image = renderImage2(part.image, `${path}.content[${index}]`);
    if (family.version >= 300 && part.image.type === "base64") inside2.push(image);
    else beside.push(image);
  }
  const functionResponse = {
    ...wireId(call),
    name: call.name,
    response: { output: messageText(message) },
    ...inside2.length === 0 ? {} : { parts: inside2 }
  };
  return [{ functionResponse }, ...beside];
}
function unasked({ message, path }) {
  const problem = `answers ${JSON.stringify(message.toolCallId)}, which the turn before did not call`;
  return new ValidationError("invalid_thread", [{ path: `${path}.toolCallId`, problem }]);
}

// ../../src/providers/gemini/render-contents.ts
function renderContents(messages, target) {
  const system = [];
  const turns = [];
  let calls = [];
  let results = [];
  const flush = () => {
    add(turns, "user", renderToolResults(results, calls, target));
    results = [];
  };
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (message.role !== "tool") flush();
    switch (message.role) {
      case "system":
        if (messageText(message) !== "") system.push({ text: messageText(message) });
        break;
      case "user":
        add(turns, "user", renderUser(message, path));
        break;
      case "assistant":
        calls = message.toolCalls ?? [];
        add(turns, "model", renderAssistant4(message, path, target));
        break;
      case "tool":
        results.push({ message, path });
        break;
      default:
        assertNever(message.role);
    }
  }
  flush();
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", parts: [{ text: " " }] });
  return { system, contents: turns.map(({ role, parts }) => ({ role, parts })) };
}
function add(turns, role, parts) {
  if (parts.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.parts.push(...parts);
  else turns.push({ role, parts: [...parts] });
}
function renderUser({ content }, path) {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  const parts = [];
  for (const [index, part] of content.entries()) {
    if (part.type === "image") parts.push(renderImage2(part.image, `${path}.content[${index}]`));
    else if (part.type === "text" && part.text !== "") parts.push({ text: part.text });
  }
  return parts;
}

// ../../src/providers/gemini/model-family.ts
var named = /^gemini-(?:(\d+)(?:\.(\d+))?(?:-|$))?/;
function modelFamily2(model) {
  const name = model.slice(model.lastIndexOf("/") + 1);
  const match = named.exec(name);
  const [, major, minor = "0"] = match ?? [];
  return {
    version: major === void 0 ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor),
    tier: name.includes("flash") ? "flash" : name.includes("pro") ? "pro" : "other",
    gemini: match !== null
  };
}

// ../../src/providers/gemini/render-target.ts
function renderTarget(model, options = {}) {
  const { provider = "gemini", baseUrl = "" } = options;
  const family = modelFamily2(model);
  const old = family.version < 205 || baseUrl.endsWith("/v1");
  return { provider, family, schemas: old ? "open_api" : "json_schema" };
}

// ../../src/providers/gemini/render-tools.ts
function renderTools2(tools, target) {
  const functionDeclarations = tools.map(({ name, description, schema: schema2 }, index) => ({
    name,
    description,
    ...renderParameters(schema2, `tools[${index}].schema`, target)
  }));
  return [{ functionDeclarations }];
}
function renderParameters(schema2, path, { provider, schemas }) {
  const place = { provider, path };
  const plain2 = { type: "object", ...plainSchema(schema2, place) };
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
function renderRequest3(request, options = {}) {
  const target = renderTarget(request.model ?? "", options);
  const { messages, tools, toolChoice, providerOptions } = request;
  const { system, contents } = renderContents(messages, target);
  const config = renderConfig(request, target);
  const body = {
    ...system.length === 0 ? {} : { systemInstruction: { parts: system } },
    contents,
    ...tools.length === 0 ? {} : { tools: renderTools2(tools, target) },
    ...tools.length === 0 || toolChoice === void 0 ? {} : { toolConfig: renderToolChoice(toolChoice) },
    ...Object.keys(config).length === 0 ? {} : { generationConfig: config }
  };
  const { gemini: shared2 = {} } = providerOptions;
  const own = target.provider === "gemini" ? {} : providerOptions[target.provider] ?? {};
  return mergeBody2(mergeBody2(body, shared2), own);
}
function mergeBody2(body, extra) {
  const merged2 = mergeObjects(body, extra);
  const { tools } = body;
  const { tools: added } = extra;
  return isJsonList(tools) && isJsonList(added) ? { ...merged2, tools: [...tools, ...added] } : merged2;
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
      let start3 = depth > 0 ? 0 : -1;
      for (let at = 0; at < chunk.length; at++) {
        const before = depth;
        step(chunk.charCodeAt(at));
        if (before === 0 && depth === 1) start3 = at;
        else if (before === 1 && depth === 0) {
          const text3 = pieces.join("") + chunk.slice(start3, at + 1);
          start3 = -1;
          pieces = [];
          size = 0;
          onEvent(text3, void 0);
        }
      }
      if (start3 === -1) return;
      pieces.push(chunk.slice(start3));
      size += chunk.length - start3;
      if (size > limit) throw new RangeError(`an object is longer than ${limit} characters`);
    },
    end(onEvent) {
      if (pieces.length > 0) onEvent(pieces.join(""), void 0);
      pieces = [];
    }
  };
}

// ../../src/providers/gemini/split-body.ts
function bodySplitter(facts) {
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
        if (!isWhole2(data)) throw cutOff(facts);
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
  const message = `the answer of ${provider} ended inside an event`;
  return new StreamError("truncated", message, { provider, requestId });
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
async function callFor2(settings, request, options, method) {
  const { provider, headers, fetch } = settings;
  const url = methodUrl(settings, request.model, method);
  const body = renderRequest3(await loadImages(request, provider), settings);
  const key = callKey(settings, options.apiKey);
  const { requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options;
  return {
    provider,
    requestId,
    url,
    headers: {
      "content-type": "application/json",
      ...key === void 0 ? {} : { "x-goog-api-key": key },
      ...headers
    },
    body: JSON.stringify(body),
    parseFailure: (status, text3, answered) => parseFailure3(provider, { status, body: text3, headers: answered }),
    splitter: () => bodySplitter({ provider, requestId }),
    fetch,
    signal,
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
function addImage3(answer2, image, signature, out) {
  closeBlock3(answer2, out);
  answer2.parts.push({ type: "image", image });
  out.push({ type: "image_completed", image });
  if (signature !== void 0) addReasoning2(answer2, signatureOfPrevious(signature), out);
}
function addForeignPart(answer2, part, out) {
  closeBlock3(answer2, out);
  addReasoning2(answer2, wholePart(part), out);
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
  const { answer: answer2, calls, metadata, usage } = decoding;
  calls.close(out);
  closeBlock3(answer2, out);
  out.push(
    defined({
      type: "message_completed",
      message: assistantMessage(answer2.parts, answer2.calls),
      finishReason: finishReasonOf(finish3, answer2.calls.length > 0),
      rawFinishReason: finish3,
      usage: usage === void 0 ? void 0 : parseUsage3(usage),
      metadata: Object.keys(metadata).length === 0 ? void 0 : metadata
    })
  );
}

// ../../src/providers/gemini/answer-metadata.ts
function noteCandidate(metadata, candidate) {
  for (const key in candidate) {
    if (candidate[key] === null) continue;
    switch (key) {
      case "content":
      case "finishReason":
      case "index":
        break;
      case "citationMetadata":
      case "logprobsResult":
        appendLists(metadata, key, candidate[key]);
        break;
      default:
        metadata[key] = merged(metadata[key], fromWire(candidate[key]));
    }
  }
}
function noteAnswer(metadata, answer2) {
  for (const key of ["promptFeedback", "modelStatus", "createTime"]) {
    const value = answer2[key];
    if (value !== void 0 && value !== null) metadata[key] = fromWire(value);
  }
}
function appendLists(metadata, key, value) {
  const next = fromWire(value);
  if (!isJsonObject(next)) return;
  const known2 = metadata[key];
  const target = isJsonObject(known2) ? known2 : {};
  metadata[key] = target;
  for (const [name, member2] of Object.entries(next)) {
    const list = target[name];
    if (!isList(member2)) target[name] = member2;
    else if (isList(list)) for (const item of member2) list.push(item);
    else target[name] = [...member2];
  }
}
function merged(known2, next) {
  return isJsonObject(known2) && isJsonObject(next) ? { ...known2, ...next } : next;
}
function isList(value) {
  return Array.isArray(value);
}
function fromWire(value) {
  return value;
}

// ../../src/providers/gemini/decode-part.ts
function decodePart({ answer: answer2, calls }, part, out) {
  const { text: text3, thoughtSignature } = part;
  const signature = typeof thoughtSignature === "string" && thoughtSignature !== "" ? thoughtSignature : void 0;
  if (typeof text3 === "string") {
    if (part.thought === true) addThought(answer2, text3, signature, out);
    else addText(answer2, text3, signature, out);
    return;
  }
  if (part.functionCall) {
    calls.add(part.functionCall, signature, out);
    return;
  }
  const { mimeType, data } = part.inlineData ?? {};
  const picture = typeof data === "string" && mimeType?.startsWith("image/") === true;
  if (picture && part.thought !== true) {
    addImage3(answer2, { type: "base64", base64: data, mimeType }, signature, out);
  } else {
    addForeignPart(answer2, part, out);
  }
}

// ../../src/providers/gemini/wire-error.ts
function reportedError2(answer2, facts) {
  const { provider, requestId, hideKey } = facts;
  const error = JSON.parse(hideKey(JSON.stringify(answer2.error)));
  const known2 = errorIn({ error }) ?? { message: String(error) };
  const { reason, message, ...details } = failureOf2(provider, known2);
  return new AdapterError(reason, message, { provider, requestId, ...details });
}
function blockedPrompt(answer2, facts) {
  const { provider, requestId } = facts;
  const { promptFeedback = {}, usageMetadata } = answer2;
  const { blockReason, blockReasonMessage } = promptFeedback;
  const words2 = typeof blockReasonMessage === "string" ? ` (${blockReasonMessage})` : "";
  const message = `${provider} blocked the prompt: ${JSON.stringify(blockReason)}${words2}`;
  const usage = usageMetadata === void 0 ? {} : { usageMetadata };
  const metadata = { promptFeedback, ...usage };
  return new AdapterError("content_filter", message, { provider, requestId, metadata });
}
function malformedAnswer(facts, cause) {
  const { provider, requestId } = facts;
  const message = `${provider} answered without a candidate that has a finish reason`;
  return new AdapterError("malformed_response", message, { provider, requestId, cause });
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
    start2(decoding, chunk, out);
  }
  if (decoding.includeRawChunks) out.push({ type: "raw_chunk", chunk });
  noteAnswer(decoding.metadata, chunk);
  if (candidate !== void 0) decodeCandidate(decoding, candidate, out);
}
function decodeCandidate(decoding, candidate, out) {
  const parts = candidate.content?.parts;
  if (Array.isArray(parts)) {
    const { answer: answer2 } = decoding;
    answer2.continues = true;
    for (const part of parts) {
      if (isJsonObject(part)) decodePart(decoding, part, out);
      answer2.continues = false;
    }
  }
  const { finishReason: finishReason2 } = candidate;
  if (typeof finishReason2 === "string" && finishReason2 !== "") decoding.finish = finishReason2;
  noteCandidate(decoding.metadata, candidate);
}
function start2(decoding, chunk, out) {
  const { facts, usage } = decoding;
  const { provider, requestId } = facts;
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
  const keys = parsePath(jsonPath);
  const last = keys.pop();
  if (last === void 0) throw new SyntaxError(`${jsonPath} is no place inside the arguments`);
  let target = args.root;
  for (const [index, key] of keys.entries()) {
    target = branchAt(target, key, typeof (keys[index + 1] ?? last) === "number");
  }
  const before = args.continuing === jsonPath ? read(target, last) : void 0;
  const goesOn = typeof before === "string";
  write(target, last, goesOn ? before + (piece.stringValue ?? "") : valueOf(piece));
  args.continuing = piece.willContinue === true ? jsonPath : void 0;
}
var segment = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;
function parsePath(path) {
  const keys = [];
  segment.lastIndex = path.startsWith("$") ? 1 : 0;
  while (segment.lastIndex < path.length) {
    const match = segment.exec(path);
    if (match === null) throw new SyntaxError(`${path} is not a JSON path`);
    const [, name, index, single, double] = match;
    if (index !== void 0) keys.push(Number(index));
    else keys.push(name ?? (single ?? double ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return keys;
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
    const { name, args, signature, ...id } = open;
    open = void 0;
    complete2(answer2, toolCall(name, args.root, id, signature), out);
  };
  const begin3 = (call, name, out) => {
    close(out);
    closeBlock3(answer2, out);
    const id = idOf(call.id);
    out.push({ type: "tool_call_started", id: id.id, name });
    return id;
  };
  return {
    close,
    add(call, signature, out) {
      const { name, partialArgs: pieces, willContinue } = call;
      if (typeof name === "string" && name !== "") {
        const id = begin3(call, name, out);
        if (!pieces && willContinue !== true) {
          complete2(answer2, toolCall(name, call.args, id, signature), out);
          return;
        }
        open = { ...id, name, args: partialArgs(), signature };
      }
      if (open === void 0) return;
      open.signature ??= signature;
      for (const piece of pieces ?? []) addPartialArg(open.args, piece);
      if (willContinue !== true) close(out);
    }
  };
}
function complete2(answer2, call, out) {
  answer2.calls.push(call);
  out.push({ type: "tool_call_completed", call });
}
function toolCall(name, args, { id, sentId }, thoughtSignature) {
  const legal = isJsonObject(args) ? args : {};
  const none3 = args === void 0 || args === null;
  return defined({
    id,
    name,
    arguments: legal,
    rawArguments: none3 || args === legal ? void 0 : JSON.stringify(args),
    opaque: callOpaque(defined({ thoughtSignature, sentId }))
  });
}

// ../../src/providers/gemini/decoding.ts
function newDecoding(options) {
  const { history, newId, includeRawChunks = false, ...facts } = options;
  const answer2 = newAnswer(facts.provider);
  const answerId = () => decoding.id ?? facts.requestId;
  const decoding = {
    facts,
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
  const end = (out) => {
    if (heard && !decoding.started) throw malformedAnswer(options);
    if (decoding.finish === void 0) return;
    completeMessage3(decoding, decoding.finish, out);
    done = true;
  };
  return {
    end,
    decodeWhole(value, out) {
      try {
        accept(value, out);
        end(out);
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
function openCall2(settings, request, given, method) {
  const requestId = given.requestId ?? (given.newId ?? randomId)("request");
  const { provider } = settings;
  let hide;
  const facts = { provider, requestId, hideKey: (text3) => hide?.(text3) ?? text3 };
  const { includeRawChunks, newId } = given;
  return {
    decoder: answerDecoder({ ...facts, history: request.messages, includeRawChunks, newId }),
    call: async () => {
      const call = await callFor2(settings, request, { ...given, requestId }, method);
      hide = secretFilter(call.headers);
      return call;
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
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
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
    stream(request, callOptions = {}) {
      const { call, decoder } = openCall2(settings, request, callOptions, "streamGenerateContent");
      return streamSse(call, decoder);
    },
    generate: (request, callOptions = {}) => generate(settings, request, callOptions)
  };
}
async function generate(settings, request, options) {
  const { call, decoder } = openCall2(settings, request, options, "generateContent");
  const { value } = await postForJson(await call());
  const events = [];
  decoder.decodeWhole(value, events);
  return collectEventsSync(events);
}

// req.mjs
var png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
var img = { type: "base64", base64: png, mimeType: "image/png" };
var urlImg = { type: "url", url: "https://example.com/a.png" };
var u = (c) => ({ role: "user", content: c });
var a = (c, tc2) => ({ role: "assistant", content: c, ...tc2 ? { toolCalls: tc2 } : {} });
var t = (id, c) => ({ role: "tool", toolCallId: id, content: c });
var sy = (c) => ({ role: "system", content: c });
var tc = (id, name = "get_weather", args = { city: "Rome" }, x = {}) => ({ id, name, arguments: args, ...x });
var threads = {
  simple: [u("hi")],
  sysMid: [u("hi"), a("ho"), sy("now be brief"), u("go")],
  sysFirstLast: [sy("a"), u("hi"), sy("b")],
  sysOnlyTwo: [sy("a"), sy("b"), u("x")],
  sysAfterAsst: [u("a"), a("b"), sy("c")],
  emptyUser: [u("")],
  emptyParts: [u([])],
  emptyAsst: [u("a"), a(""), u("b")],
  emptyTextPart: [u([{ type: "text", text: "" }]), a([{ type: "text", text: "" }]), u("b")],
  wsAsst: [u("a"), a("  \n"), u("b")],
  wsUser: [u(" ")],
  endsAsst: [u("a"), a("Sure:")],
  endsAsstWs: [u("a"), a("Sure: ")],
  startsAsst: [a("Welcome"), u("hi")],
  twoUsers: [u("a"), u("b"), a("c"), a("d"), u("e")],
  images: [u([{ type: "text", text: "see" }, { type: "image", image: img, detail: "low" }, { type: "image", image: urlImg }])],
  imageOnly: [u([{ type: "image", image: img }])],
  asstImage: [u("draw"), a([{ type: "text", text: "here" }, { type: "image", image: img }]), u("again")],
  tools: [u("w"), a("looking", [tc("c1"), tc("c2")]), t("c1", "sun"), t("c2", "rain"), a("ok"), u("thx")],
  toolsOrder: [u("w"), a("", [tc("c1"), tc("c2")]), t("c2", "rain"), t("c1", "sun")],
  toolThenUser: [u("w"), a("", [tc("c1")]), t("c1", "x"), u("and?")],
  toolThenSys: [u("w"), a("", [tc("c1")]), t("c1", "x"), sy("brief"), u("and?")],
  toolEmptyResult: [u("w"), a("", [tc("c1")]), t("c1", "")],
  toolEmptyParts: [u("w"), a("", [tc("c1")]), t("c1", [])],
  toolImgResult: [u("w"), a("", [tc("c1")]), t("c1", [{ type: "text", text: "x" }, { type: "image", image: img }])],
  toolJson: [u("w"), a("", [tc("c1")]), t("c1", "[1,2]")],
  rawBroken: [u("w"), a("", [tc("c1", "get_weather", {}, { rawArguments: '{"city":"Ber' })]), t("c1", "interrupted")],
  oddIds: [u("w"), a("", [tc("call with spaces/\xE4\xF6!"), tc("x".repeat(100))]), t("call with spaces/\xE4\xF6!", "a"), t("x".repeat(100), "b")],
  sameIdsTwice: [u("w"), a("", [tc("c1")]), t("c1", "a"), a("", [tc("c1")]), t("c1", "b"), u("x")],
  emptyId: [u("w"), a("", [tc("call_1")]), t("call_1", "a")],
  openCalls: [u("w"), a("", [tc("c1")])],
  openCallsUser: [u("w"), a("", [tc("c1"), tc("c2")]), t("c1", "x"), u("b")],
  reasonOA: [u("q"), a([{ type: "reasoning", text: "th", provider: "openai", opaque: { id: "rs_1", encrypted_content: "gAAA" } }, { type: "text", text: "x" }], [tc("c1")]), t("c1", "r")],
  reasonAN: [u("q"), a([{ type: "reasoning", text: "th", provider: "anthropic", opaque: { signature: "c2ln" } }, { type: "text", text: "x" }], [tc("c1")]), t("c1", "r")],
  reasonAR: [u("q"), a([{ type: "reasoning", text: "", provider: "anthropic", opaque: { redacted: "ZGF0YQ==" } }, { type: "text", text: "x" }]), u("b")],
  reasonGE: [u("q"), a([{ type: "reasoning", text: "th", provider: "gemini", opaque: "c2ln" }, { type: "text", text: "x" }], [tc("c1", "get_weather", { city: "R" }, { opaque: { thoughtSignature: "c2ln", sentId: null } })]), t("c1", "r")],
  reasonForeign: [u("q"), a([{ type: "reasoning", text: "th", provider: "other", opaque: { zz: 1 } }]), u("b")],
  reasonNoOpaque: [u("q"), a([{ type: "reasoning", text: "th" }, { type: "text", text: "x" }]), u("b")],
  reasonOnlyAN: [u("q"), a([{ type: "reasoning", text: "th", provider: "anthropic", opaque: { signature: "c2ln" } }]), u("b")],
  reasonField: [u("q"), a([{ type: "reasoning", text: "th", provider: "openai", opaque: { field: "reasoning_content" } }, { type: "text", text: "x" }]), u("b")],
  reasonDetails: [u("q"), a([{ type: "reasoning", text: "th", provider: "openai", opaque: { reasoning_details: [{ type: "reasoning.text", text: "th" }] } }, { type: "text", text: "x" }]), u("b")],
  reasonLast: [u("q"), a([{ type: "text", text: "x" }, { type: "reasoning", text: "th", provider: "anthropic", opaque: { signature: "c2ln" } }]), u("b")],
  named: [{ role: "user", content: "a", name: "ada" }, a("x"), u("y")],
  meta: [{ role: "user", content: "a", metadata: { x: 1 } }, { role: "assistant", content: "partial te", metadata: { interrupted: true, partial: true } }, u("go on")],
  unicode: [u("\0\u{1F600} \u2028"), a("\xE9"), u("x")]
};
var weather = { name: "get_weather", description: "W", schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } };
var odd = { name: "odd", description: "", schema: { type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] }, b: { type: "array", items: { $ref: "#/$defs/n" } }, c: { enum: ["x", "y"] }, d: { type: ["string", "number"] }, e: { const: "k" }, f: { type: "object", additionalProperties: { type: "string" } } }, required: ["a"], $defs: { n: { type: "object", properties: { v: { type: "integer", minimum: 0 } }, required: ["v"] } } } };
var noargs = { name: "noargs", description: "none", schema: { type: "object", properties: {} } };
var bare2 = { name: "bare", description: "none", schema: {} };
var schema = { type: "object", properties: { answer: { type: "string" }, n: { type: ["number", "null"] } }, required: ["answer", "n"], additionalProperties: false };
var opts = { none: {}, temp: { temperature: 0.5, maxTokens: 50 }, temp0: { temperature: 0 }, tools: { tools: [weather, odd, noargs] }, toolsBare: { tools: [bare2] }, tcAuto: { tools: [weather], toolChoice: "auto" }, tcNone: { tools: [weather], toolChoice: "none" }, tcReq: { tools: [weather], toolChoice: "required" }, tcName: { tools: [weather, noargs], toolChoice: "get_weather" }, json: { responseFormat: { type: "json_object" } }, text: { responseFormat: { type: "text" } }, schema: { responseFormat: { type: "json_schema", name: "answer", schema, strict: true } }, schemaLoose: { responseFormat: { type: "json_schema", name: "answer", schema: { type: "object", properties: { a: { type: "string" } } }, strict: false } }, schemaTools: { tools: [weather], responseFormat: { type: "json_schema", name: "answer", schema } }, schemaArr: { responseFormat: { type: "json_schema", name: "answer", schema: { type: "array", items: { type: "string" } } } }, ...Object.fromEntries(["none", "minimal", "low", "medium", "high", "max"].map((e) => ["re_" + e, { reasoning: { effort: e } }])), reSum: { reasoning: { effort: "high", summary: true } }, reTemp: { reasoning: { effort: "high" }, temperature: 0.7, maxTokens: 500 }, reTiny: { reasoning: { effort: "high" }, maxTokens: 10 }, reForce: { reasoning: { effort: "high" }, tools: [weather], toolChoice: "required" }, reSchema: { reasoning: { effort: "low" }, responseFormat: { type: "json_schema", name: "answer", schema } }, cache: { promptCache: true }, cacheLong: { promptCache: { key: "k", retention: "long" }, tools: [weather] }, cacheShort: { promptCache: { retention: "short" } } };
var provs = {
  chat: { mk: (f) => openai({ api: "chat", apiKey: "k", fetch: f }), models: ["gpt-3.5-turbo", "gpt-4o", "gpt-4.1", "o3-mini", "gpt-5", "gpt-5.1", "gpt-5.5", "gpt-6", "llama-3"], kinds: () => ["openai.chat.request"] },
  resp: { mk: (f) => openai({ api: "responses", apiKey: "k", fetch: f }), models: ["gpt-4o", "o4-mini", "gpt-5", "gpt-5-pro", "gpt-5.1", "gpt-5.5", "gpt-6", "gpt-5-chat-latest"], kinds: () => ["openai.responses.request"] },
  ant: { mk: (f) => anthropic({ apiKey: "k", fetch: f }), models: ["claude-3-haiku-20240307", "claude-3-5-sonnet-latest", "claude-3-7-sonnet-latest", "claude-sonnet-4-0", "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-5", "claude-opus-5-5", "claude-haiku-5-5", "llama"], kinds: (b) => "temperature" in b ? ["anthropic.messages.request"] : ["anthropic.messages.request", "anthropic-current.messages.request"] },
  gem: { mk: (f) => gemini({ apiKey: "k", fetch: f }), models: ["gemini-1.5-flash", "gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3-flash", "gemma-3"], kinds: () => ["gemini.generate.request"] }
};
var n = 0;
var bad = {};
var note = (k, w) => {
  (bad[k] ??= []).push(w);
};
for (const p in provs) for (const model of provs[p].models) {
  const combos = [];
  for (const th in threads) for (const o of ["none", "tools", "schema", "re_high", "cache", "re_none"]) combos.push([th, o]);
  for (const o in opts) for (const th of ["simple", "tools", "images", "reasonAN"]) combos.push([th, o]);
  for (const [th, o] of combos) {
    n++;
    let body;
    const f = async (url, i) => {
      body = JSON.parse(i.body);
      return new Response('{"error":{"message":"stop here"}}', { status: 400 });
    };
    const req = { model, messages: threads[th], tools: [], providerOptions: {}, metadata: {}, ...opts[o] };
    try {
      for await (const _ of provs[p].mk(f).stream(req, { requestId: "r" })) ;
    } catch (e) {
      if (!isAllmError(e)) note(`UNTYPED ${p} ${String(e.stack).slice(0, 300)}`, `${model} ${th} ${o}`);
      else if (body === void 0) note(`REFUSED ${p} ${e.kind}/${e.reason}: ${e.message.slice(0, 140)} ${JSON.stringify(e.issues ?? "").slice(0, 120)}`, `${model} ${th} ${o}`);
    }
    if (!body) continue;
    for (const kind of provs[p].kinds(body)) {
      const b = kind.startsWith("gemini") ? { model: "models/x", ...body } : body;
      const v = validate(kind, b, { strict: true });
      if (!v.ok) note(`INVALID ${kind} ${v.errors.slice(0, 3).join(" ; ")}`, `${model} ${th} ${o}`);
    }
    if (p === "ant") {
      const ms = body.messages;
      if (!ms.length || ms[0].role !== "user") note("ANT first not user", `${model} ${th} ${o} ${JSON.stringify(ms).slice(0, 200)}`);
      let prev;
      for (const [i, m] of ms.entries()) {
        const c = Array.isArray(m.content) ? m.content : [{ type: "text", text: m.content }];
        for (const b of c) if (b.type === "text" && !b.text.trim()) note("ANT empty text block", `${model} ${th} ${o}`);
        if (!c.length) note("ANT empty content", `${model} ${th} ${o}`);
        const uses = c.filter((b) => b.type === "tool_use").map((b) => b.id);
        if (new Set(uses).size !== uses.length) note("ANT dup ids", `${th}`);
        if (uses.length) {
          const nx = ms[i + 1];
          const got = (Array.isArray(nx?.content) ? nx.content : []).filter((b) => b.type === "tool_result").map((b) => b.tool_use_id);
          if (JSON.stringify([...uses].sort()) !== JSON.stringify([...got].sort())) note("ANT unanswered", `${model} ${th} ${o}`);
        }
        if (m.role === "assistant" && i === ms.length - 1) {
          const last = c.at(-1);
          if (last.type === "text" && /\s$/.test(last.text)) note("ANT trailing ws prefill", `${model} ${th} ${o}`);
        }
      }
      const th2 = body.thinking;
      if (th2?.budget_tokens && th2.budget_tokens >= body.max_tokens) note("ANT budget>=max", `${model} ${o} ${th2.budget_tokens} ${body.max_tokens}`);
      if (th2?.type === "enabled" && body.temperature !== void 0 && body.temperature !== 1) note("ANT temp w/ thinking", `${model} ${o}`);
      if (th2 && th2.type !== "disabled" && ["any", "tool"].includes(body.tool_choice?.type)) note("ANT forced w/ thinking", `${model} ${o}`);
    }
    if (p === "gem") {
      for (const c of body.contents) if (!c.parts?.length) note("GEM empty parts", `${model} ${th} ${o}`);
      else for (const q of c.parts) if (Object.keys(q).length === 0) note("GEM empty part", th);
      if (!body.contents.length) note("GEM no contents", th);
      for (const [i, c] of body.contents.entries()) {
        const fc = c.parts.filter((q) => q.functionCall).length;
        if (fc) {
          const fr = (body.contents[i + 1]?.parts ?? []).filter((q) => q.functionResponse).length;
          if (fr !== fc) note("GEM fc/fr mismatch", `${model} ${th} ${o} ${fc} ${fr}`);
        }
      }
    }
    if (p === "chat") {
      const ms = body.messages;
      for (const [i, m] of ms.entries()) if (m.role === "assistant" && m.tool_calls) {
        const ids = m.tool_calls.map((x) => x.id);
        const got = [];
        for (let j = i + 1; ms[j]?.role === "tool"; j++) got.push(ms[j].tool_call_id);
        if (JSON.stringify([...ids].sort()) !== JSON.stringify(got.sort())) note("CHAT unanswered", `${model} ${th} ${o}`);
        for (const id of ids) if (id.length > 40) note("CHAT long id", th);
      }
    }
    if (p === "resp") {
      const calls = body.input.filter((x) => x.type === "function_call").map((x) => x.call_id), outs = body.input.filter((x) => x.type === "function_call_output").map((x) => x.call_id);
      if (JSON.stringify([...calls].sort()) !== JSON.stringify([...outs].sort())) note("RESP unanswered", `${model} ${th} ${o}`);
      for (const id of calls) if (id.length > 64) note("RESP long id", th);
    }
  }
}
console.log(n);
for (const k in bad) console.log(`## ${bad[k].length}x ${k}
     ${bad[k].slice(0, 4).join(" | ").slice(0, 400)}`);
process.exit(0);
