import type { RunStore } from './run-store.ts'

/**
 * The Lua scripts of `redisStore`: each one is an operation of the store, and atomic.
 *
 * The keys of a session, all of them with the same beginning (`KEYS[1]`):
 *
 *     s:id    hash      the session: body, version, status, metadata, updated, folded, events, commands, token, owner, due, stop
 *     e:id    stream    the events of the log; an entry has the number of its event as id
 *     c:id    stream    the commands of the log, numbered in the same way
 *     p:id    stream    the first snapshots of runs: the number of the next event, and the version, as id
 *     b:id    hash      the texts of the snapshots
 *     i:id    list      the inbox: a time, a blank, a command
 *     k:id    set       the keys of commands, sorted by time
 *     d:id    hash      the digests of the commands with keys
 *     h:id    hash      the slots: a time, a blank, the command that has it
 *     w:id    hash      the slots of commands in the inbox, by their numbers in the log to come
 *     q:id    hash      what waits for somebody, by its ticket: a time, a blank, a kind, a blank, the call
 *
 * and of all sessions: `ids` (sorted by bytes, for lists), `pending` and `pending:…` for each kind (what waits: its time, a blank, an id,
 * NUL, a ticket; sorted by bytes), `expires` (those of them that expire, sorted by the time at which they do), `due` (sorted by the time at which they are due, or their lease ends), `logs`
 * (sorted by the time before which there is nothing to prune), `token` (the last one), and for a short time `n:…`, the replies to writes that
 * a client may send again.
 *
 * `due` in the hash is the end of the lease while there is an owner, else the time at which the session is due; without it the
 * session rests. Numbers are written with `int`, because Lua shortens large ones.
 */
const prelude = `
local base, id, channel = KEYS[1], ARGV[1], ARGV[2]
local main, events, commands, snapshots, bodies, inbox, keys, digests, slots, slotsOf, waits
local function bind(name)
  id = name
  main, events, commands = base .. 's:' .. id, base .. 'e:' .. id, base .. 'c:' .. id
  snapshots, bodies = base .. 'p:' .. id, base .. 'b:' .. id
  inbox, keys, digests = base .. 'i:' .. id, base .. 'k:' .. id, base .. 'd:' .. id
  slots, slotsOf, waits = base .. 'h:' .. id, base .. 'w:' .. id, base .. 'q:' .. id
end
bind(id)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function int(number) return string.format('%.0f', number) end
local function get(field) return redis.call('HGET', main, field) end
local function count(field) return tonumber(get(field) or '0') end
local function isLive()
  local due = get('due')
  return due and get('owner') and tonumber(due) > now
end
local function setDue(at)
  if at then
    redis.call('HSET', main, 'due', int(at))
    redis.call('ZADD', base .. 'due', int(at), id)
  else
    redis.call('HDEL', main, 'due')
    redis.call('ZREM', base .. 'due', id)
  end
end
local function ensure()
  if redis.call('HSETNX', main, 'updated', int(now)) == 1 then redis.call('ZADD', base .. 'ids', 0, id) end
end
local function changed(what) redis.call('PUBLISH', channel .. id, what or '') end
local function logged() redis.call('ZADD', base .. 'logs', 'NX', int(now), id) end
local function addEvents(from)
  local last = count('events')
  for index = from, #ARGV do
    last = last + 1
    redis.call('XADD', events, int(last) .. '-0', 'a', int(now), 'e', ARGV[index])
  end
  if #ARGV >= from then
    redis.call('HSET', main, 'events', int(last))
    logged()
  end
  return last
end
-- Replaces what waits: tickets, kinds, calls, and when they expire. What waited before keeps its time.
local function setWaiting(calls)
  local since = {}
  local before = redis.call('HGETALL', waits)
  for index = 1, #before, 2 do
    local ticket = before[index]
    local at, kind = string.match(before[index + 1], '^(%d+) (%a+) ')
    since[ticket] = at
    local place = string.rep('0', 16 - #at) .. at .. ' ' .. id .. '\\0' .. ticket
    redis.call('ZREM', base .. 'pending', place)
    redis.call('ZREM', base .. 'pending:' .. kind, place)
    redis.call('ZREM', base .. 'expires', place)
  end
  redis.call('DEL', waits)
  for _, call in ipairs(calls) do
    local ticket, kind, body, expires = call[1], call[2], call[3], call[4]
    local at = since[ticket] or int(now)
    local place = string.rep('0', 16 - #at) .. at .. ' ' .. id .. '\\0' .. ticket
    redis.call('HSET', waits, ticket, at .. ' ' .. kind .. ' ' .. body)
    redis.call('ZADD', base .. 'pending', 0, place)
    redis.call('ZADD', base .. 'pending:' .. kind, 0, place)
    if expires ~= '' then redis.call('ZADD', base .. 'expires', expires, place) end
  end
end
local function take(owner, ttl)
  if isLive() then return {} end
  local due, wake = get('due'), ''
  if due and not get('owner') and tonumber(due) > now and redis.call('LLEN', inbox) == 0 then
    wake = int(tonumber(due) - now)
  end
  -- Also larger than every token before, if Redis has lost its last writes.
  local token = math.max(tonumber(redis.call('GET', base .. 'token') or '0') + 1, time[1] * 1000000 + time[2])
  redis.call('SET', base .. 'token', int(token))
  ensure()
  redis.call('HSET', main, 'token', int(token), 'owner', owner)
  setDue(now + ttl)
  changed()
  return { id, int(token), int(now + ttl), wake }
end
`

/** A script, and whether it writes. */
export interface RedisScript {
  readonly text: string
  readonly writes: boolean
}

/** The operations of a store that are scripts. */
export type RedisOperation = Exclude<keyof RunStore, 'watch' | 'notifies'>

/** A script that writes. If a client sends it again because the connection broke, it gets the reply of the first time. */
function writing(body: string): RedisScript {
  const text = `${prelude}
local function run()
${body}
end
local nonce = ARGV[3]
if nonce == '' then return run() end
local reply = redis.call('GET', base .. 'n:' .. nonce)
if reply then return cjson.decode(reply) end
reply = run()
redis.call('SET', base .. 'n:' .. nonce, cjson.encode(reply), 'PX', 60000)
return reply
`
  return { text, writes: true }
}

function reading(body: string): RedisScript {
  return { text: `${prelude}${body}`, writes: false }
}

/** The scripts by operation. Arguments after the first three are named in their first lines. Replies are lists of texts. */
export const redisScripts: Readonly<Record<RedisOperation, RedisScript>> = {
  load: reading(`return redis.call('HMGET', main, 'body', 'version', 'updated', 'folded')`),

  save: writing(`
local body, status, metadata, token, ifVersion = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local taken, refused, first, calls, firstEvent = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12], 13
if token ~= '' then
  if get('token') ~= token then return { 'lost' } end
elseif isLive() then
  return { 'busy' }
end
local version = count('version')
if ifVersion ~= '' and version ~= tonumber(ifVersion) then return { 'stale', int(version) } end
ensure()
if taken > 0 then
  local number, position = count('commands'), int(count('events'))
  for _, entry in ipairs(redis.call('LRANGE', inbox, 0, taken - 1)) do
    number = number + 1
    local text = string.sub(entry, string.find(entry, ' ', 1, true) + 1)
    redis.call('XADD', commands, int(number) .. '-0', 'a', int(now), 'p', position, 't', text, 'r', refused)
    local slot = redis.call('HGET', slotsOf, int(number))
    if slot then
      redis.call('HDEL', slotsOf, int(number))
      if refused ~= '' then redis.call('HDEL', slots, slot) end
    end
  end
  redis.call('LTRIM', inbox, taken, -1)
  redis.call('HSET', main, 'commands', int(number))
  logged()
end
local last = addEvents(firstEvent)
redis.call('HSET', main, 'body', body, 'version', int(version + 1), 'status', status, 'metadata', metadata,
  'updated', int(now), 'folded', int(last))
setWaiting(cjson.decode(calls))
if first ~= '' then
  local place = int(last + 1) .. '-' .. int(version + 1)
  redis.call('XADD', snapshots, place, 'a', int(now))
  redis.call('HSET', bodies, place, body)
  logged()
end
changed('log')
return { 'saved', int(version + 1) }`),

  delete: writing(`
setWaiting({})
redis.call('DEL', main, events, commands, snapshots, bodies, inbox, keys, digests, slots, slotsOf)
for _, index in ipairs({ 'ids', 'due', 'logs' }) do redis.call('ZREM', base .. index, id) end
changed()
return {}`),

  list: reading(`
local min, max, limit, status = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local found = redis.call('ZRANGEBYLEX', base .. 'ids', min, max, 'LIMIT', 0, limit)
local rows = {}
for index, name in ipairs(found) do
  bind(name)
  local row = redis.call('HMGET', main, 'status', 'version', 'updated', 'due')
  -- The metadata of a row that is left out is not sent.
  local wanted = status == '' or status == (row[1] or 'idle')
  rows[index] = { name, row[1], row[2], row[3], row[4], wanted and get('metadata') }
end
return rows`),

  append: writing(`
local token, after, firstEvent = ARGV[4], ARGV[5], 6
if get('token') ~= token then return { 'lost' } end
local last = count('events')
if after ~= '' and tonumber(after) ~= last then return { 'gap', int(last) } end
last = addEvents(firstEvent)
changed('log')
return { 'appended', int(last) }`),

  acquire: writing(`return take(ARGV[4], tonumber(ARGV[5]))`),

  renew: writing(`
if get('token') ~= ARGV[4] or not get('owner') then return { 'lost' } end
setDue(now + tonumber(ARGV[5]))
return { 'renewed' }`),

  release: writing(`
local token, wake = ARGV[4], ARGV[5]
if get('token') ~= token or not get('owner') then return { 'lost' } end
local stop = get('stop') and wake ~= ''
redis.call('HDEL', main, 'owner')
if not stop then redis.call('HDEL', main, 'stop') end
local due
if stop or redis.call('LLEN', inbox) > 0 then due = now elseif wake ~= '' then due = now + tonumber(wake) end
setDue(due)
if not due and not get('version') and not get('events') and redis.call('EXISTS', keys) == 0 then
  redis.call('DEL', main)
  redis.call('ZREM', base .. 'ids', id)
end
changed()
return { (due and due <= now) and 'due' or 'rests' }`),

  claim: writing(`
local found = redis.call('ZRANGEBYSCORE', base .. 'due', '-inf', int(now), 'LIMIT', 0, 1)
if not found[1] then return {} end
bind(found[1])
return take(ARGV[4], tonumber(ARGV[5]))`),

  push: writing(`
local text, key, ifIdle, digest, slot = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
if key ~= '' and redis.call('ZSCORE', keys, key) then
  return { 'known', redis.call('HGET', digests, key) }
end
local due = get('due')
if ifIdle ~= '' and due then return { 'busy' } end
local holder = slot ~= '' and redis.call('HGET', slots, slot)
if holder then return { 'slot_taken', holder } end
ensure()
if key ~= '' then
  redis.call('ZADD', keys, int(now), key)
  redis.call('HSET', digests, key, digest)
  logged()
end
local waiting = redis.call('RPUSH', inbox, int(now) .. ' ' .. text)
if slot ~= '' then
  redis.call('HSET', slots, slot, int(now) .. ' ' .. text)
  redis.call('HSET', slotsOf, int(count('commands') + waiting), slot)
end
if not isLive() then setDue(math.min(tonumber(due or now), now)) end
changed()
return { 'pushed' }`),

  knowsKey: reading(`
return { redis.call('ZSCORE', keys, ARGV[4]), redis.call('HGET', digests, ARGV[4]) }`),

  readInbox: reading(`return redis.call('LRANGE', inbox, 0, -1)`),

  due: reading(`
return redis.call('ZRANGEBYSCORE', base .. 'due', '-inf', int(now), 'LIMIT', 0, ARGV[4])`),

  readEvents: reading(`
local after, limit, withCommands, afterCommand = tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
local function range(stream, from)
  if limit == '' then return redis.call('XRANGE', stream, int(from), '+') end
  return redis.call('XRANGE', stream, int(from), '+', 'COUNT', limit)
end
local found, given = range(events, after + 1), {}
if withCommands ~= '' then
  if afterCommand ~= '' then
    given = range(commands, tonumber(afterCommand) + 1)
  else
    for _, entry in ipairs(redis.call('XRANGE', commands, '-', '+')) do
      if tonumber(entry[2][4]) >= after then given[#given + 1] = entry end
    end
  end
end
return { found, given }`),

  readSnapshot: reading(`
local found = redis.call('XREVRANGE', snapshots, ARGV[4], '-', 'COUNT', 1)
if not found[1] then return {} end
return { found[1][1], redis.call('HGET', bodies, found[1][1]) }`),

  look: reading(`
if redis.call('EXISTS', main) == 0 then return {} end
local state = redis.call('HMGET', main, 'version', 'status', 'events', 'commands', 'due', 'owner')
if not isLive() then state[6] = false end
state[7] = redis.call('LLEN', inbox)
return state`),

  pending: reading(`
local min, limit, kind, expiresBy = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
-- Lua compares texts by the language of the machine.
local function isBefore(left, right)
  for at = 1, math.min(#left, #right) do
    local one, other = string.byte(left, at), string.byte(right, at)
    if one ~= other then return one < other end
  end
  return #left < #right
end
-- What has expired is sorted by when it did. This gives the first of it behind a place, without sorting all of it.
local function expired(after, size)
  local first = {}
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', base .. 'expires', '-inf', expiresBy)) do
    local last = first[size]
    if isBefore(after, name) and not (last and isBefore(last, name)) then
      local low, high = 1, #first + 1
      while low < high do
        local middle = math.floor((low + high) / 2)
        if isBefore(first[middle], name) then low = middle + 1 else high = middle end
      end
      table.insert(first, low, name)
      first[size + 1] = nil
    end
  end
  return first
end
local found
if expiresBy ~= '' then
  found = expired(string.sub(min, 2), tonumber(limit))
else
  local index = kind == '' and base .. 'pending' or base .. 'pending:' .. kind
  found = redis.call('ZRANGEBYLEX', index, min, '+', 'LIMIT', 0, limit)
end
local rows = {}
for place, name in ipairs(found) do
  local zero = string.find(name, '\\0', 1, true)
  local ticket = string.sub(name, zero + 1)
  bind(string.sub(name, 18, zero - 1))
  rows[place] = { id, ticket, redis.call('HGET', waits, ticket), get('metadata') }
end
return rows`),

  requestStop: writing(`
local due = get('due')
if not due then return {} end
redis.call('HSET', main, 'stop', '1')
if not get('owner') then setDue(math.min(tonumber(due), now)) end
changed()
return { 'asked' }`),

  stopRequested: reading(`return get('stop')`),

  /** Looks at some sessions whose logs may have something old. Gives their number, how many had something, and the time that was asked for. */
  prune: writing(`
local before, limit = tonumber(ARGV[4]), ARGV[5]
-- The first call has the age, and the next ones have the time that came back.
if ARGV[6] ~= '' then before = now - tonumber(ARGV[6]) end
local function idOf(entry) return tonumber(string.match(entry[1], '^%d+')) end
local function head(stream)
  local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  return first and tonumber(first[2][2])
end
local function dropEmpty(stream)
  if redis.call('XLEN', stream) == 0 then redis.call('DEL', stream) end
end
local function trim(stream, from)
  local removed = redis.call('XTRIM', stream, 'MINID', from)
  dropEmpty(stream)
  return removed
end
-- The number of the last event that is old. Times rise with the numbers.
local function lastBefore(last)
  local first = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
  local low, high = (first and idOf(first) or last + 1) - 1, last
  while low < high do
    local middle = math.ceil((low + high) / 2)
    local entry = redis.call('XRANGE', events, int(middle), int(middle))[1]
    if tonumber(entry[2][2]) < before then low = middle else high = middle - 1 end
  end
  return low
end
local function pruneOne()
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', keys, '-inf', '(' .. int(before))) do
    redis.call('HDEL', digests, key)
  end
  local removed = redis.call('ZREMRANGEBYSCORE', keys, '-inf', '(' .. int(before))
  local folded = count('folded')
  local last = count('events')
  local old = lastBefore(last)
  -- Whole runs are removed, so that what is left goes on from a snapshot; the last run too, if all of it is in the session.
  local isOver, cut, kept = old == last and folded == last, folded, nil
  if not isOver then
    local next = redis.call('XREVRANGE', snapshots, int(old + 1), '-', 'COUNT', 1)[1]
    kept = next and next[1]
    cut = next and idOf(next) - 1 or 0
  end
  removed = removed + trim(events, int(cut + 1))
  local command
  for _, entry in ipairs(redis.call('XRANGE', commands, '-', '+')) do
    if tonumber(entry[2][2]) >= before or tonumber(entry[2][4]) > cut then break end
    command = idOf(entry)
  end
  if command then removed = removed + trim(commands, int(command + 1)) end
  for _, entry in ipairs(redis.call('XRANGE', snapshots, '-', kept and '(' .. kept or '+')) do
    if not kept and not (isOver and tonumber(entry[2][2]) < before) then break end
    redis.call('XDEL', snapshots, entry[1])
    redis.call('HDEL', bodies, entry[1])
    removed = removed + 1
  end
  dropEmpty(snapshots)
  return removed
end
local names = redis.call('ZRANGEBYSCORE', base .. 'logs', '-inf', '(' .. int(before), 'LIMIT', 0, limit)
local pruned = 0
for _, name in ipairs(names) do
  bind(name)
  if pruneOne() > 0 then pruned = pruned + 1 end
  local oldest = tonumber(redis.call('ZRANGE', keys, 0, 0, 'WITHSCORES')[2])
  for _, stream in ipairs({ events, commands, snapshots }) do
    local at = head(stream)
    if at and (not oldest or at < oldest) then oldest = at end
  end
  if not oldest then
    redis.call('ZREM', base .. 'logs', id)
  else
    -- What is old and has to stay is not looked at again and again.
    redis.call('ZADD', base .. 'logs', int(oldest < before and now or oldest), id)
  end
end
return { int(#names), int(pruned), int(before) }`),
}
