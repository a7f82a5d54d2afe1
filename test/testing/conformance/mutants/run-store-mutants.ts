import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileFunction } from 'node:vm'
import ts from 'typescript-6'
import type { RunStoreHarness } from '../../../../src/conformance.ts'
import * as clock from '../../../../src/core/base/clock.ts'
import * as checks from '../../../../src/core/schema/checks.ts'
import * as guards from '../../../../src/core/types/guards.ts'
import * as pendingRows from '../../../../src/durable/stores/pending-rows.ts'
import * as runStore from '../../../../src/durable/stores/run-store.ts'
import * as sessionStore from '../../../../src/durable/stores/session-store.ts'
import * as saved from '../../../../src/engine/session/saved.ts'
import type { MemoryStoreOptions, RunStore } from '../../../../src/stores.ts'
import { nextTurn } from '../../../../src/testing/fakes/virtual-clock.ts'
import { root } from '../../../support/root.ts'
import { memoryRunHarness } from '../stores.ts'
import type { Mutant } from './mutant.ts'

const original = readFileSync(join(root, 'src/durable/stores/memory-store.ts'), 'utf8')

const modules: Readonly<Record<string, unknown>> = {
  '../../core/base/clock.ts': clock,
  '../../core/schema/checks.ts': checks,
  '../../core/types/guards.ts': guards,
  '../../engine/session/saved.ts': saved,
  './pending-rows.ts': pendingRows,
  './run-store.ts': runStore,
  './session-store.ts': sessionStore,
}

/** Run stores with one defect each: the memory store, with a piece of its source replaced. */
export const runStoreMutants: readonly Mutant<RunStoreHarness>[] = [
  mutant(
    'a lease does not say when it ends',
    'a lease is given, also before the session exists',
    'defined<AcquiredLease>({ token: lastToken, expiresAt, wakeInMs })',
    "defined<AcquiredLease>({ token: lastToken, expiresAt: owner === 'owner' ? Number.NaN : expiresAt, wakeInMs })",
  ),
  mutant(
    'an owner of the same name gets the lease again',
    'a live lease keeps others out',
    'if (isLive(record, now)) return undefined',
    'if (isLive(record, now) && record.owner !== owner) return undefined',
  ),
  mutant(
    'a lease that expired is never given again',
    'a lease that expired can be taken, with a larger token',
    'if (isLive(record, now)) return undefined',
    'if (record.owner !== undefined) return undefined',
  ),
  mutant(
    'a token is used twice',
    'tokens rise with each lease of a session',
    '    lastToken++\n',
    '    lastToken = Math.max(lastToken, Math.min(lastToken + 1, 3))\n',
  ),
  mutant(
    'tokens begin anew after a delete',
    'tokens rise also after the session was deleted',
    '      records.delete(id)\n      changed(id)\n',
    '      records.delete(id)\n      lastToken = 0\n      changed(id)\n',
  ),
  mutant(
    'something comes between the look at the lease and its taking',
    'of several that ask at the same time one gets the lease',
    '      return acquire(id, options)\n    },\n    renew',
    `      const before = recordOf(id)
      if (isLive(before, clock.now())) return undefined
      await nextTurn()
      before.owner = undefined
      return acquire(id, options)
    },
    renew`,
  ),
  mutant(
    'a renewal changes nothing',
    'a lease that is renewed lasts',
    'record.dueAt = clock.now() + ttlMs',
    'void ttlMs',
  ),
  mutant(
    'a lease that expired is lost at once',
    'a lease that expired and that nobody took can still be used',
    'if (record === undefined || record.token !== lease.token) throw leaseLost(id, lease)',
    'if (record === undefined || record.token !== lease.token || !isLive(record, clock.now())) throw leaseLost(id, lease)',
  ),
  mutant(
    'a save does not look at the token',
    'an owner that lost its lease saves nothing',
    'const known = lease === undefined ? records.get(id) : owned(id, lease)',
    'const known = lease === undefined ? records.get(id) : (records.get(id) ?? owned(id, lease))',
  ),
  mutant(
    'a save under a lost lease takes its commands all the same',
    'an owner that lost its lease saves nothing',
    'const known = lease === undefined ? records.get(id) : owned(id, lease)',
    `const late = records.get(id)
      if (late !== undefined && lease !== undefined && late.token !== lease.token) take(late, taken, now, refused)
      const known = lease === undefined ? records.get(id) : owned(id, lease)`,
  ),
  mutant(
    'an append does not look at the token',
    'an owner that lost its lease appends nothing',
    'const record = owned(id, lease)\n',
    'const record = records.get(id) ?? owned(id, lease)\n',
  ),
  mutant(
    'a renewal does not look at the token',
    'an owner that lost its lease renews nothing',
    `renew: async (id, { token }, ttlMs) => {
      const record = records.get(id)
      if (record?.token !== token || record.owner === undefined) return false`,
    `renew: async (id, { token }, ttlMs) => {
      const record = records.get(id)
      if (record?.owner === undefined) return false`,
  ),
  mutant(
    'a release does not look at the token',
    'an owner that lost its lease releases nothing',
    `{ wakeInMs } = {}) => {
      const record = records.get(id)
      if (record?.token !== token || record.owner === undefined) return false`,
    `{ wakeInMs } = {}) => {
      const record = records.get(id)
      if (record?.owner === undefined) return false`,
  ),
  mutant(
    'a lease outlives its session',
    'the lease of a session that was deleted is lost',
    'const record = records.get(id)\n    if (record === undefined || record.token !== lease.token)',
    'const record = recordOf(id)\n    if (record.token !== 0 && record.token !== lease.token)',
  ),
  mutant(
    'a lease that was given back is renewed',
    'a lease that was given back is neither renewed nor given back again',
    'ttlMs) => {\n      const record = records.get(id)\n      if (record?.token !== token || record.owner === undefined) return false',
    'ttlMs) => {\n      const record = records.get(id)\n      if (record?.token !== token) return false',
  ),
  mutant(
    'every lease makes a session',
    'a lease of an unknown session leaves nothing behind',
    'if (dueAt === undefined && isEmpty(record)) records.delete(id)',
    '',
  ),
  mutant(
    'a save without a lease is always taken',
    'a save without a lease is refused while somebody owns the session',
    'if (lease === undefined && known !== undefined && isLive(known, now)) {',
    'if (lease === undefined && known === null) {',
  ),
  mutant(
    'the options of a claim are not looked at',
    'what acquire and claim need is checked',
    'assertAcquireOptions(options)\n      const [id] = dueIds()',
    'const [id] = dueIds()',
  ),
  mutant(
    'events are not counted as folded',
    'a save stores the session, its events and what it took',
    'const folded = record.lastEventId',
    'const folded = record.lastEventId - texts.length',
  ),
  mutant(
    'what a save took is logged after its events',
    'a save stores the session, its events and what it took',
    'take(record, taken, now, refused)\n      addEvents(record, texts, now)',
    'addEvents(record, texts, now)\n      take(record, taken, now, refused)',
  ),
  mutant(
    'a stale save is refused when half of it is done',
    'a stale save changes nothing',
    'refuseStale(id, known?.version ?? 0, ifVersion)',
    `if (known !== undefined && ifVersion !== undefined && known.version !== ifVersion) take(known, taken, now, refused)
      refuseStale(id, known?.version ?? 0, ifVersion)`,
  ),
  mutant(
    'a save without a lease logs nothing',
    'a save at rest needs no lease, and logs its events',
    'const texts = events.map((event) => JSON.stringify(event))\n      take(',
    'const texts = (lease === undefined ? [] : events).map((event) => JSON.stringify(event))\n      take(',
  ),
  mutant(
    'an append counts as folded',
    'events that are appended are not folded until the next save',
    'addEvents(record, texts, clock.now())',
    'addEvents(record, texts, clock.now())\n      if (record.version > 0) record.folded = record.lastEventId',
  ),
  mutant(
    'a save writes its events first, and the session a moment later',
    'a reader sees all of a save or nothing of it',
    'const version = record.version + 1',
    'record.folded = record.lastEventId\n      if (lease !== undefined && events.length === 1 && taken === 0 && first === undefined) await nextTurn()\n      const version = record.version + 1',
  ),
  interrupted(
    'an interrupted save has logged its events',
    'a save that is interrupted leaves all of it or nothing',
    'const version = record.version + 1',
    "if (options.fails?.()) throw new Error('interrupted')\n      const version = record.version + 1",
  ),
  mutant(
    'an owner begins to count anew',
    'events are numbered 1, 2, 3 over appends, saves and owners',
    'record.lastEventId++\n',
    'record.lastEventId += record.owner === "other" && record.lastEventId === 3 ? 2 : 1\n',
  ),
  mutant(
    'an append takes its numbers before it writes',
    'appends at the same time have a number each, and stay together',
    'addEvents(record, texts, clock.now())',
    `for (const text of texts) {
        addEvents(record, [text], clock.now())
        if (texts.length === 3) await nextTurn()
      }`,
  ),
  mutant(
    'an append does not look where the log ends',
    'an append after a number that is not the last is refused',
    /refuseGap\([^)]*\)/,
    'void 0',
  ),
  mutant(
    'something comes between the look at the end of the log and the write',
    'of several appends after the same number one is taken',
    'addEvents(record, texts, clock.now())',
    'await nextTurn()\n      addEvents(record, texts, clock.now())',
  ),
  mutant(
    'events have no time',
    'the log has the time of each entry',
    'record.events.push({ id: record.lastEventId, at, text })',
    'record.events.push({ id: record.lastEventId, at: at - 1000, text })',
  ),
  mutant(
    'after is the first event that is read',
    'reading goes on after a number, up to a limit',
    'record.events.slice(Math.max(0, after + 1 - first))',
    'record.events.slice(Math.max(0, (after === 99 ? 0 : after) + 1 - first))',
  ),
  mutant(
    'a reader sees the end of the log before what comes in between',
    'a reader never skips or repeats an event while others write',
    'addEvents(record, texts, clock.now())',
    `record.lastEventId += texts.length
      const last = record.lastEventId
      if (texts.length === 2) await nextTurn()
      for (const [index, text] of texts.entries()) record.events.push({ id: last - texts.length + 1 + index, at: clock.now(), text })
      record.events.sort((left, right) => left.id - right.id)`,
  ),
  mutant(
    'commands stand at the end of the log',
    'commands stand in the log where they were applied',
    'while ((given[0]?.position ?? event.id) < event.id)',
    'while ((given[0]?.position ?? event.id) < Math.min(event.id, 3))',
  ),
  mutant(
    'a page has its limit of events and its limit of commands',
    'pages with commands neither skip nor repeat an entry',
    '[...entries, ...given.map(toCommandEntry)].slice(0, limit)',
    '[...entries, ...given.map(toCommandEntry)]',
  ),
  mutant(
    'a refused command looks like any other',
    'a command that was refused is logged with the reason',
    'defined<CommandEntry>({ id, at, command, refused })',
    'defined<CommandEntry>({ id, at, command, refused: refused?.message === "it is over" ? undefined : refused })',
  ),
  mutant(
    'the oldest snapshot is given',
    'the first session of each run is kept with the log',
    'snapshots.findLast(({ lastEventId }) => lastEventId <= at)',
    'snapshots.find(({ lastEventId }) => lastEventId <= at)',
  ),
  mutant(
    'the first snapshot is given for any number',
    'a session whose runs are not marked has no snapshot',
    'snapshots.findLast(({ lastEventId }) => lastEventId <= at)',
    'snapshots.findLast(({ lastEventId }, index) => index === 0 || lastEventId <= at)',
  ),
  mutant(
    'what is no text of the user goes first',
    'commands wait in the order in which they came',
    'record.inbox.push({ at: now, text, slot })',
    'if (text.includes(\'"deny"\')) record.inbox.unshift({ at: now, text, slot })\n      else record.inbox.push({ at: now, text, slot })',
  ),
  mutant(
    'the last commands are taken',
    'the commands that came first are taken first',
    'record.inbox.splice(0, count)',
    'record.inbox.splice(count === 2 && record.inbox.length === 3 ? 1 : 0, count)',
  ),
  mutant(
    'a save empties the inbox',
    'the commands that came first are taken first',
    'record.inbox.splice(0, count)',
    'record.inbox.splice(0, count > 0 ? Infinity : 0)',
  ),
  mutant(
    'a save puts the inbox back that it had read',
    'a command that comes during a save is not lost',
    'take(record, taken, now, refused)\n',
    `const rest = record.inbox.slice(taken)
      take(record, taken, now, refused)
      if (taken === 1 && texts.length === 0 && refused === undefined && first === undefined) {
        await nextTurn()
        record.inbox = rest
      }\n`,
  ),
  mutant(
    'keys are not kept',
    'a command with a key that came before is ignored',
    'if (key !== undefined) record.keys.set(',
    'if (key !== undefined && ifIdle) record.keys.set(',
  ),
  mutant(
    'a key is forgotten when its command is taken',
    'a command with a key that came before is ignored',
    'take(record, taken, now, refused)\n',
    'take(record, taken, now, refused)\n      if (taken === 3) record.keys.clear()\n',
  ),
  mutant(
    'something comes between the look for the key and the push',
    'of several commands with one key at the same time one is taken',
    'if (key !== undefined) record.keys.set(',
    'if (key !== undefined) await nextTurn()\n      if (key !== undefined) record.keys.set(',
  ),
  mutant(
    'whether the session is busy is asked before the key',
    'a key that came before is told to a busy session too',
    'const known = key === undefined ?',
    "if (ifIdle === true && record.dueAt !== undefined) throw busy(id, 'it takes no command')\n      const known = key === undefined ?",
  ),
  mutant(
    'a key is kept before the command is',
    'a command that is refused as busy does not use its key',
    'if (ifIdle === true && record.dueAt !== undefined) throw',
    "if (key === 'k') record.keys.set(key, { at: now })\n      if (ifIdle === true && record.dueAt !== undefined) throw",
  ),
  mutant(
    'no key is known',
    'a store tells whether it knows a key',
    'return known !== undefined\n    },\n    readInbox',
    "return known !== undefined || key === 'K'\n    },\n    readInbox",
  ),
  mutant(
    'a key says nothing about its command',
    'a key that came before with another command is refused',
    'refuseReuse(id, key, known, command)\n        return false',
    'if (ifIdle !== true) refuseReuse(id, key, known, command)\n        return false',
  ),
  mutant(
    'a key says nothing about its command before it is given',
    'a key that came before with another command is refused',
    'if (known !== undefined && command !== undefined) refuseReuse',
    "if (known !== undefined && command?.type === 'send') refuseReuse",
  ),
  mutant(
    'something comes between the look for the key of another command and the push',
    'of several commands at the same time that have one key one is taken, and the others are refused',
    'const known = key === undefined ?',
    "await (command.content === '0' ? undefined : nextTurn())\n      const known = key === undefined || (command.content ?? '') > '5' ?",
  ),
  mutant(
    'keys are cut',
    'keys are told apart, whatever their characters',
    'const known = key === undefined ?',
    'key = key?.slice(0, 300)\n      const known = key === undefined ?',
  ),
  mutant(
    'a session that sleeps counts as idle',
    'a command with ifIdle is refused while the session runs',
    'if (ifIdle === true && record.dueAt !== undefined)',
    'if (ifIdle === true && record.dueAt !== undefined && (record.owner !== undefined || record.dueAt <= now))',
  ),
  mutant(
    'a dead owner counts as idle',
    'a command with ifIdle is refused while the session runs',
    'if (ifIdle === true && record.dueAt !== undefined)',
    'if (ifIdle === true && record.dueAt !== undefined && (record.owner === undefined || isLive(record, now)))',
  ),
  mutant(
    'something comes between the look whether it is idle and the push',
    'of several commands with ifIdle at the same time one is taken',
    'record.inbox.push({ at: now, text, slot })',
    'if (ifIdle === true && key === undefined) await nextTurn()\n      record.inbox.push({ at: now, text, slot })',
  ),
  mutant(
    'a session without a save is not in the list',
    'a command to an unknown id makes its session',
    'if (record === undefined) return undefined\n  const { status, version',
    'if (record === undefined || (record.version === 0 && record.owner === undefined && id === "s")) return undefined\n  const { status, version',
  ),
  mutant(
    'a slot is looked at after its command was stored',
    'of the commands with one slot the first is stored, and the others are told of it',
    'if (holder !== undefined) return toSlotTaken(holder)',
    `if (holder !== undefined) {
        record.inbox.push({ at: now, text, slot })
        return toSlotTaken(holder)
      }`,
  ),
  mutant(
    'a command that loses its slot uses its key',
    'of the commands with one slot the first is stored, and the others are told of it',
    'if (holder !== undefined) return toSlotTaken(holder)',
    "if (key === 'late' && command.type === 'send') record.keys.set(key, { at: now })\n      if (holder !== undefined) return toSlotTaken(holder)",
  ),
  mutant(
    'who loses is told of the own command',
    'of the commands with one slot the first is stored, and the others are told of it',
    'return toSlotTaken(holder)',
    'return toSlotTaken({ ...holder, text })',
  ),
  mutant(
    'a session has one slot',
    'the slots of a session have nothing to do with each other',
    'record.slots.get(slot)',
    '[...record.slots.values()][0]',
  ),
  mutant(
    'a slot is that of all sessions',
    'the same slot in two sessions is two slots',
    'record.slots.get(slot)',
    '[...records.values()].map((any) => any.slots.get(slot)).find((found) => found !== undefined)',
  ),
  mutant(
    'something comes between the look at the slot and the push',
    'of several commands with one slot at the same time one is stored, and the others are told of it',
    'if (holder !== undefined) return toSlotTaken(holder)',
    'if (holder !== undefined) return toSlotTaken(holder)\n      await nextTurn()',
  ),
  mutant(
    'a slot is looked at before the key',
    'a command that is repeated with its key is not told of its slot',
    'const known = key === undefined ?',
    `const before = slot === undefined ? undefined : record.slots.get(slot)
      if (key === 'k' && before !== undefined) return toSlotTaken(before)
      const known = key === undefined ?`,
  ),
  mutant(
    'a slot is looked at before whether the session runs',
    'a session that runs is busy, whoever has the slot',
    'if (ifIdle === true && record.dueAt !== undefined)',
    `const before = slot === undefined ? undefined : record.slots.get(slot)
      if (before !== undefined) return toSlotTaken(before)
      if (ifIdle === true && record.dueAt !== undefined)`,
  ),
  mutant(
    'a command takes its slot before it is refused as busy',
    'a command that is refused when it is given does not use its slot',
    'if (ifIdle === true && record.dueAt !== undefined)',
    'if (ifIdle === true && slot !== undefined && record.owner !== undefined) record.slots.set(slot, { at: now, text })\n      if (ifIdle === true && record.dueAt !== undefined)',
  ),
  mutant(
    'a slot is freed when its command is applied',
    'a slot is kept when its command is applied',
    'if (slot !== undefined && refused !== undefined) record.slots.delete(slot)',
    'if (slot !== undefined) record.slots.delete(slot)',
  ),
  mutant(
    'the next lease frees the slots',
    'a slot is kept when its command is applied',
    'const waitMs = record.owner === undefined',
    'if (record.version > 1) record.slots.clear()\n    const waitMs = record.owner === undefined',
  ),
  mutant(
    'a slot is kept after a refusal',
    'a slot is free again when its command is refused',
    'if (slot !== undefined && refused !== undefined) record.slots.delete(slot)',
    '',
  ),
  mutant(
    'a refusal frees every slot',
    'a slot is free again when its command is refused',
    'if (slot !== undefined && refused !== undefined) record.slots.delete(slot)',
    'if (slot !== undefined && refused !== undefined) record.slots.clear()',
  ),
  mutant(
    'a refusal frees the slot of its first command only',
    'a slot is free again when its command is refused',
    'if (slot !== undefined && refused !== undefined) record.slots.delete(slot)',
    "if (slot !== undefined && slot !== 'a' && refused !== undefined) record.slots.delete(slot)\n    if (slot === 'a' && refused !== undefined && count === 1) record.slots.delete(slot)",
  ),
  mutant(
    'a save frees slots before it looks at the version',
    'a refusal that is not stored frees no slot',
    'refuseStale(id, known?.version ?? 0, ifVersion)',
    `if (refused !== undefined) known?.slots.clear()
      refuseStale(id, known?.version ?? 0, ifVersion)`,
  ),
  mutant(
    'a save frees slots before it looks at the lease',
    'a refusal that is not stored frees no slot',
    'const known = lease === undefined ? records.get(id) : owned(id, lease)',
    `if (refused !== undefined && id === 's') records.get(id)?.slots.clear()
      const known = lease === undefined ? records.get(id) : owned(id, lease)`,
  ),
  mutant(
    'pruning forgets slots',
    'a slot is kept when its command is pruned from the log',
    'for (const [key, { at }] of keys) if (at < before) keys.delete(key)',
    'for (const [key, { at }] of keys) if (at < before) keys.delete(key)\n  for (const [slot, { at }] of record.slots) if (at < before) record.slots.delete(slot)',
  ),
  mutant(
    'pruning leaves a command with a slot in the log',
    'a slot is kept when its command is pruned from the log',
    'commands.filter(({ at, position }) => at >= before || position > cut)',
    'commands.filter(({ at, position, text }) => at >= before || position > cut || [...record.slots.values()].some((held) => held.text === text))',
  ),
  mutant(
    'slots outlive their session',
    'the slots of a session are deleted with it',
    '      records.delete(id)\n      changed(id)\n',
    `      const old = records.get(id)
      records.delete(id)
      if (old?.slots.has('applied')) recordOf(id).slots.set('applied', { at: 0, text: '{}' })
      changed(id)\n`,
  ),
  mutant(
    'slots are cut',
    'slots are told apart, whatever their characters',
    'const { key, ifIdle, slot } = options',
    'const { key, ifIdle } = options\n      const slot = options.slot?.slice(0, 199)',
  ),
  mutant(
    'a slot of any length is taken',
    'a slot that is not a string of 1 to 200 characters is refused',
    'assertPushOptions(options)',
    'if (options.slot?.length !== 201) assertPushOptions(options)',
  ),
  mutant(
    'what waits loses its zeros',
    'what a session waits for is in the index, whatever its text',
    'rowsOfSession(storedSession(id, text), waiting, updatedAt)',
    "rowsOfSession(storedSession(id, text.replaceAll('\\\\u0000', '')), waiting, updatedAt)",
  ),
  mutant(
    'a session that was stopped waits for nothing',
    'what waits is in the index, whatever the status of its session',
    'text === undefined || waiting.size === 0',
    "text === undefined || waiting.size === 0 || records.get(id)?.status === 'halted'",
  ),
  mutant(
    'agents inside calls wait for nothing',
    'what agents inside calls wait for is in the index of their session',
    'rowsOfSession(storedSession(id, text), waiting, updatedAt)',
    "rowsOfSession(storedSession(id, text), waiting, updatedAt).filter(({ call }) => !call.id.includes('/'))",
  ),
  mutant(
    'what waits shortest comes first',
    'what waits longest comes first, then the ids and tickets decide',
    'return pendingPageOf(rows, options)',
    'const page = pendingPageOf(rows, options)\n      return { ...page, rows: page.rows.toReversed() }',
  ),
  mutant(
    'ids of what waits are ordered by code units',
    'what waits longest comes first, then the ids and tickets decide',
    'return pendingPageOf(rows, options)',
    `const page = pendingPageOf(rows, options)
      const order = (left, right) => left.since - right.since ||
        (left.sessionId === right.sessionId ? 0 : left.sessionId < right.sessionId ? -1 : 1)
      return { ...page, rows: page.rows.toSorted(order) }`,
  ),
  mutant(
    'every save sets since when a call waits',
    'a call keeps the time since when it waits, as long as it waits',
    'waitingSince(calls, record.waiting, now)',
    'waitingSince(calls, undefined, now)',
  ),
  mutant(
    'a call that was settled keeps its time',
    'a call keeps the time since when it waits, as long as it waits',
    'waitingSince(calls, record.waiting, now)',
    'new Map([...record.waiting, ...waitingSince(calls, record.waiting, now)])',
  ),
  mutant(
    'a save forgets what other sessions wait for',
    'a save replaces what its session waits for, and leaves other sessions alone',
    'const waiting = waitingSince(',
    'for (const other of records.values()) if (other !== record) other.waiting = new Map()\n      const waiting = waitingSince(',
  ),
  mutant(
    'a save forgets what waits before it looks at the version',
    'a save that is refused leaves what waits as it is',
    'refuseStale(id, known?.version ?? 0, ifVersion)',
    `if (known !== undefined && ifVersion === 7) known.waiting = new Map()
      refuseStale(id, known?.version ?? 0, ifVersion)`,
  ),
  mutant(
    'questions are not told apart',
    'the kinds of what waits are told apart',
    'return pendingPageOf(rows, options)',
    "return pendingPageOf(rows, { ...options, kind: options.kind === 'question' ? undefined : options.kind })",
  ),
  mutant(
    'a prefix has wildcards',
    'what waits is found by the beginning of the id of its session',
    'return pendingPageOf(rows, options)',
    "return pendingPageOf(rows, { ...options, prefix: options.prefix?.replace(/[%_].*/, '') })",
  ),
  mutant(
    'objects in metadata are not compared',
    'what waits is found by the metadata of its session',
    'return pendingPageOf(rows, options)',
    `const { metadata = {} } = options
      const simple = Object.entries(metadata).filter(([, value]) => typeof value !== 'object')
      return pendingPageOf(rows, { ...options, metadata: Object.fromEntries(simple) })`,
  ),
  mutant(
    'the calls of a session expire with the first of them',
    'pending({expiresBy}) gives the calls that have expired, and no other',
    'return pendingPageOf(rows, options)',
    'return pendingPageOf(rows, { ...options, expiresBy: undefined })',
  ),
  mutant(
    'a call expires after its time',
    'pending({expiresBy}) gives the calls that have expired, and no other',
    '!matchesExpiry(expiresAt, options)',
    '!matchesExpiry(expiresAt, { expiresBy: options.expiresBy && options.expiresBy - 1 })',
  ),
  mutant(
    'a call that expired at the beginning of time never does',
    'pending({expiresBy}) gives the calls that have expired, and no other',
    '!matchesExpiry(expiresAt, options)',
    '!matchesExpiry(expiresAt || undefined, options)',
  ),
  mutant(
    'a call keeps the time at which it expires',
    'pending({expiresBy}) gives the calls that have expired, and no other',
    'expiresAt: firstExpiry(calls)',
    'expiresAt: record.expiresAt ?? firstExpiry(calls)',
  ),
  mutant(
    'the first page of what waits is the only one',
    'pages of what waits have every call once',
    'return pendingPageOf(rows, options)',
    'return { rows: pendingPageOf(rows, options).rows }',
  ),
  mutant(
    'a page of what waits is filtered after it was cut',
    'pages of what waits have every call once',
    'return pendingPageOf(rows, options)',
    `const page = pendingPageOf(rows, { ...options, kind: undefined })
      return { ...page, rows: page.rows.filter(({ kind }) => kind === (options.kind ?? kind)) }`,
  ),
  mutant(
    'pages of what waits are counted',
    'what comes and goes between two pages hides nothing that waits',
    /assertPendingOptions\(options\)\n[^]*return pendingPageOf\(rows, options\)/,
    `const rows = [...records].flatMap(([id, { text, waiting, updatedAt }]) =>
        text === undefined ? [] : rowsOfSession(storedSession(id, text), waiting, updatedAt))
      const { after = '0', limit = Infinity } = options
      const all = pendingPageOf(rows, { ...options, limit: undefined, after: undefined }).rows
      const end = Number(after) + limit
      return { rows: all.slice(Number(after), end), ...(end < all.length && { next: String(end) }) }`,
  ),
  mutant(
    'since when a call waits outlives its session',
    'a session that is deleted waits for nothing, and waits anew when it is saved again',
    '      records.delete(id)\n      changed(id)\n',
    `      const old = records.get(id)
      records.delete(id)
      if (old !== undefined && old.waiting.size > 0) recordOf(id).waiting = old.waiting
      changed(id)\n`,
  ),
  mutant(
    'pages of what waits may have no row',
    'illegal options of pending are refused',
    'assertPendingOptions(options)',
    'if (options.limit !== 0) assertPendingOptions(options)',
  ),
  mutant(
    'what somebody owns is due when a command comes',
    'a command makes its session due, unless somebody owns it',
    'if (!isLive(record, now)) record.dueAt',
    "if (!isLive(record, now) || id === 'owned') record.dueAt",
  ),
  mutant(
    'a session stays due after its release',
    'a session without commands rests when its lease is given back',
    'const wakeAt = wakeInMs === undefined ? undefined : now + wakeInMs',
    'const wakeAt = wakeInMs === undefined ? (record.lastCommandId === 1 && record.lastEventId === 0 ? now : undefined) : now + wakeInMs',
  ),
  mutant(
    'a wake-up counts more than a command',
    'commands that wait make a session due when its lease is given back',
    'const dueAt = record.inbox.length > 0 || stop ? now : wakeAt',
    'const dueAt = stop ? now : (wakeAt ?? (record.inbox.length > 0 ? now : undefined))',
  ),
  mutant(
    'a release looks at the inbox before it writes',
    'a command that comes while a lease is given back does not sleep',
    'const dueAt = record.inbox.length > 0 || stop ? now : wakeAt',
    'const dueAt = record.inbox.length > 0 || stop ? now : wakeAt\n      await nextTurn()',
  ),
  mutant(
    'a session sleeps for ever',
    'a session that sleeps is due when its time has come',
    'const wakeAt = wakeInMs === undefined ? undefined : now + wakeInMs',
    "const wakeAt = wakeInMs === undefined ? undefined : id === 'soon' ? Infinity : now + wakeInMs",
  ),
  mutant(
    'no time to sleep is no wake-up',
    'a session that is to be woken at once is due',
    'const wakeAt = wakeInMs === undefined ? undefined : now + wakeInMs',
    'const wakeAt = wakeInMs === undefined || wakeInMs === 0 ? undefined : now + wakeInMs',
  ),
  mutant(
    'a command does not wake a session that sleeps',
    'a command wakes a session that sleeps',
    'record.dueAt = Math.min(record.dueAt ?? now, now)',
    "record.dueAt = id === 's' ? (record.dueAt ?? now) : Math.min(record.dueAt ?? now, now)",
  ),
  mutant(
    'a sleep is not told',
    'an owner that comes early learns how long the session sleeps',
    'waitMs > 0 && record.inbox.length === 0 ? waitMs : undefined',
    'undefined',
  ),
  mutant(
    'a dead owner keeps its session',
    'a session whose owner died is due and can be claimed',
    'dueAt !== undefined && dueAt <= now)\n',
    'dueAt !== undefined && dueAt <= now && records.size > 1)\n',
  ),
  mutant(
    'what is due comes in the order of its ids',
    'what is due the longest comes first, up to the limit',
    'due: async ({ limit }) => dueIds().slice(0, limit)',
    'due: async ({ limit }) => dueIds().toSorted().slice(0, limit)',
  ),
  mutant(
    'claim takes what came last',
    'claim takes what is due the longest',
    'const [id] = dueIds()',
    'const id = dueIds().at(-1)',
  ),
  mutant(
    'claim takes what sleeps',
    'claim gives nothing while nothing is due',
    'const [id] = dueIds()',
    "const [id = records.has('sleeps') ? 'sleeps' : undefined] = dueIds()",
  ),
  mutant(
    'something comes between the look at what is due and the lease',
    'claims at the same time give each session once',
    'const [id] = dueIds()\n',
    `const [id] = dueIds()
      const found = id === undefined ? undefined : records.get(id)
      await nextTurn()
      if (found !== undefined && records.size > 20) found.owner = undefined\n`,
  ),
  mutant(
    'a stop is kept for later',
    'a stop is asked only of a session that runs',
    'if (record?.dueAt === undefined) return\n',
    'if (record === undefined) return\n',
  ),
  mutant(
    'a release leaves the stop as it is',
    'a stop reaches the owner, and is over when the lease is given back',
    'Object.assign(record, { owner: undefined, stop, dueAt })',
    'Object.assign(record, { owner: undefined, dueAt })',
  ),
  mutant(
    'a release until later forgets a stop',
    'a stop that comes just before a release until later is kept',
    'const stop = record.stop && wakeAt !== undefined',
    'const stop = false',
  ),
  mutant(
    'a new owner does not hear of a stop',
    'a stop outlives an owner that dies',
    'Object.assign(record, { token: lastToken, owner, dueAt: expiresAt })',
    'Object.assign(record, { token: lastToken, owner, dueAt: expiresAt, stop: false })',
  ),
  mutant(
    'a stop lets a session sleep',
    'a stop wakes a session that sleeps',
    'if (record.owner === undefined) record.dueAt = Math.min(record.dueAt, clock.now())',
    '',
  ),
  mutant(
    'a stop ends the lease',
    'a stop does not take a session from its owner',
    'if (record.owner === undefined) record.dueAt',
    'if (record.version === 0) record.dueAt',
  ),
  mutant(
    'a dead owner is told as an owner',
    'look tells the state of a session at each moment',
    'queued: inbox.length',
    'queued: record.version === 0 ? 0 : inbox.length',
  ),
  mutant(
    'look tells the wrong time',
    'look tells when a lease ends',
    '    dueAt,\n  })',
    '    dueAt: dueAt && dueAt - 1000,\n  })',
  ),
  mutant(
    'only what is owned runs in a list',
    'a list tells which sessions run',
    'running: dueAt !== undefined, metadata }',
    "running: id === 'sleeps' ? false : dueAt !== undefined, metadata }",
  ),
  mutant(
    'keys outlive their session',
    'deleting a session removes all that belongs to it',
    '      records.delete(id)\n      changed(id)\n',
    `      const old = records.get(id)
      records.delete(id)
      if (old?.keys.has('k') && old.stop) recordOf(id).keys.set('k', clock.now())
      changed(id)\n`,
  ),
  mutant(
    'everything is old',
    'pruning keeps what is not old',
    'const before = clock.now() - keepMs',
    'const before = clock.now() - 0 * keepMs + 1',
  ),
  mutant(
    'keys are kept for ever',
    'pruning forgets old keys, and counts their sessions',
    'for (const [key, { at }] of keys) if (at < before) keys.delete(key)',
    'void keys',
  ),
  mutant(
    'pruning knows no limit',
    'pruning looks at no more sessions than it is told',
    'if (count >= limit) break',
    '',
  ),
  mutant(
    'the limit counts sessions that have nothing to remove, so the first ones hide the others',
    'repeated limited prunes reach every session',
    'for (const record of records.values()) {\n        if (count >= limit) break\n',
    'for (const record of [...records.values()].slice(0, limit)) {\n',
  ),
  mutant(
    'who waits for stop requests hears nothing',
    'who waits for stop requests hears of them',
    'watch: (id, listener) => {',
    'watch: (id, listener, options) => {\n      if (options?.stopsOnly) return () => undefined',
  ),
  mutant(
    'numbers begin anew when the log is empty',
    'pruning removes the log of a session that rests, and its numbers go on',
    'const left = record.events.length',
    'if (isOver && record.events.length === 0) record.lastEventId = 0\n  const left = record.events.length',
  ),
  mutant(
    'events go that are not folded',
    'pruning keeps the events of a run that are not folded yet',
    'const isOver = old === lastEventId && folded === lastEventId',
    'const isOver = old === lastEventId && (folded === lastEventId || snapshots.length === 1)',
  ),
  mutant(
    'pruning cuts a run in the middle',
    'pruning removes whole runs, so the log goes on from a snapshot',
    'const cut = isOver ? folded : (snapshots[next]?.lastEventId ?? 0)',
    'const cut = isOver ? folded : (snapshots[next]?.lastEventId ?? 0) + (snapshots.length > 1 ? 1 : 0)',
  ),
  mutant(
    'a run goes only when the next one is old too',
    'pruning removes a run when all of its events are old',
    'findLastIndex((snapshot) => snapshot.lastEventId <= old)',
    'findLastIndex((snapshot) => snapshot.lastEventId <= old && snapshot.at < before)',
  ),
  mutant(
    'an append gives no hint',
    'hints come for changes until they are ended',
    'addEvents(record, texts, clock.now())\n      changed(id)',
    'addEvents(record, texts, clock.now())',
  ),
  mutant(
    'hints do not end',
    'hints come for changes until they are ended',
    'own.delete(listener)',
    'void own',
  ),
  mutant(
    'a store says that it notifies, and does not',
    'a store that notifies hears of the changes of others',
    'for (const listener of listeners.get(id) ?? []) queueMicrotask(listener)',
    'if (records.get(id)?.token !== 0) for (const listener of listeners.get(id) ?? []) queueMicrotask(listener)',
    (source) => source.replace('notifies: false', 'notifies: true'),
  ),
  mutant(
    'ids are lower case',
    'ids of all kinds keep their logs, inboxes and leases apart',
    'const known = records.get(id)\n    if (known',
    'const known = records.get(id) ?? records.get(id.toLowerCase())\n    if (known',
  ),
  mutant(
    'an id is not looked at before a push',
    'an id that no store can hold is refused',
    'const recordOf = (id: string): StoredRecord => {\n    assertSessionId(id)',
    'const recordOf = (id: string): StoredRecord => {',
  ),
  mutant(
    'text is stored without its zeros',
    'text of all kinds survives in commands, events and snapshots',
    'record.inbox.push({ at: now, text, slot })',
    "record.inbox.push({ at: now, text: text.replaceAll('\\\\u0000', ''), slot })",
  ),
  mutant(
    'the newest token is not asked for when the counter is saved',
    'owners that compete with short leases lose no update',
    'const known = lease === undefined ? records.get(id) : owned(id, lease)',
    'const known = lease === undefined ? records.get(id) : typeof metadata.count === "number" ? recordOf(id) : owned(id, lease)',
  ),
  {
    defect: 'each handle has a memory of its own',
    caught: 'another handle continues what one began',
    harness: apart(),
  },
  mutant(
    'time is that of the process',
    'the clock of the process does not matter',
    'const { clock = systemClock } = options',
    'const { clock: own = systemClock } = options\n  const start = Date.now()\n  const clock = { now: () => own.now() + Math.round((Date.now() - start) / 1_000_000) * 1_000_000 }',
  ),
]

/** The memory store as the mutants are made, without a defect. */
export const unchangedRunStore: RunStoreHarness = memoryRunHarness(
  made('export function memoryStore', 'export function memoryStore', (source) => source),
)

/** A memory store whose source has another piece in the place of one. */
function mutant(
  defect: string,
  caught: string,
  from: string | RegExp,
  to: string,
  more: (source: string) => string = (source) => source,
): Mutant<RunStoreHarness> {
  return { defect, caught, harness: impatient(memoryRunHarness(made(from, to, more))) }
}

/** The same, for a harness that interrupts saves. */
function interrupted(
  defect: string,
  caught: string,
  from: string,
  to: string,
): Mutant<RunStoreHarness> {
  const make = made(from, to, (source) =>
    source
      .replace("['clock']", "['clock', 'fails']")
      .replaceAll('options.fails', 'given.fails')
      .replace('options: MemoryStoreOptions = {}', 'options = {}, given = options'),
  )
  const start: RunStoreHarness['start'] = async () => {
    let fails = false
    const isFailing = (): boolean => {
      const fail = fails
      fails = false
      return fail
    }
    const harness = memoryRunHarness((options) => make({ ...options, fails: isFailing } as never))
    const started = await harness.start()
    return { ...started, interruptNextSave: () => (fails = true) }
  }
  return { defect, caught, harness: impatient({ ...memoryRunHarness(), start }) }
}

/** Handles that do not share anything. */
function apart(): RunStoreHarness {
  const harness = memoryRunHarness()
  return impatient({
    ...harness,
    start: async () => {
      const [first, second] = [await harness.start(), await harness.start()]
      let count = 0
      return { ...first, connect: () => (count++ === 0 ? second.store : first.store) }
    },
  })
}

/** What does not happen at once in memory does not happen. */
function impatient(harness: RunStoreHarness): RunStoreHarness {
  return { ...harness, patienceMs: 20 }
}

function made(
  from: string | RegExp,
  to: string,
  more: (source: string) => string,
): (options: MemoryStoreOptions) => RunStore {
  const count = original.split(from).length - 1
  if (count !== 1)
    throw new Error(`memory-store.ts has this ${count} times, not once: ${String(from)}`)
  const changed = more(original.replace(from, () => to))
  const { outputText } = ts.transpileModule(changed, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 },
  })
  const exported: { memoryStore?: (options: MemoryStoreOptions) => RunStore } = {}
  const run = compileFunction(outputText, ['require', 'exports', 'nextTurn'])
  run(moduleOf, exported, nextTurn)
  const { memoryStore } = exported
  if (memoryStore === undefined) throw new Error('memory-store.ts has no memoryStore any more')
  return memoryStore
}

function moduleOf(name: string): unknown {
  if (Object.hasOwn(modules, name)) return modules[name]
  throw new Error(`memory-store.ts imports ${name}, which the mutants do not have`)
}
