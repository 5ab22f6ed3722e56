import { script } from '../keys.ts';
import { HERE } from './marker.ts';

/** A lead has at most this many identities; further ones are left unowned. */
const MAX_IDENTITIES = 50;

/** As many a lead is created with without being counted: most never have more. */
export const IDENTITIES_AT_CREATION = 2;

/**
 * Characters of a record: fingerprint, submission, lead (22 each), order (16), then the identities of
 * what was taken, or '!' and the reason of what was held.
 */
export const RECORD_ORDER = { start: 66, end: 82 };
const RECORD_SECONDS = 24 * 60 * 60;

/**
 * Reserves for a group of requests of one workspace, in their order; each sees the claims of those
 * before it. One unit: it reads, decides, and then writes, and a read that fails (a key that holds
 * another type) ends it before anything is written.
 *
 * The order of decisions for a request:
 * 1. its idempotency record, before the limits: a sender who repeats what was accepted is told so;
 * 2. its limits: what is over one counts for none, so that one sender over the limit of its address
 *    does not use up the link's;
 * 3. whether the workspace may be claimed on: it has its marker, which names this very Redis, and its
 *    clock is not below what the caller has seen. If it may not, a record is still believed when
 *    its order is within the clock: the claims it speaks of were written by the script that wrote it.
 *    With an order beyond the clock, it outlived them;
 * 4. its identities: the first that is owned says the lead, else it is the offered one. The free ones
 *    become that lead's while there is room. A source whose posts brought too many identities together
 *    is heard on the first one only, whatever is known of the others: what it gets tells nothing of
 *    them. Its sender's id of it comes before all of them and is not counted: if it is owned, the
 *    submission came before, and claims nothing more.
 *
 * A marker that names another Redis (one that started again or took over, or whose dump was put back)
 * says nothing of what was claimed since that one was seen last: the caller's memory is no proof, as
 * it may be shorter. It stays, for a worker to compare the clock with Postgres and confirm it. A
 * workspace whose clock is behind loses its marker, so that no receiver claims on it. Either keeps the
 * highest order it was told of: the comparison counts it, and the clock starts above it.
 *
 * KEYS: state, claims, limits, idempotency records…, then the identities' hashes request by request.
 * ARGV: highest order seen, number of requests, of records, of limit keys; the shape; then
 *   for each limit key: key, max, uses that never reached a reservation;
 *   for each request: offered lead, the fields of its identities, and if it has an idempotency
 *   key: fingerprint, submission, how it was judged (nothing, or '!' and why it is held).
 * Shape, for each request, in characters from '0': number of identities, 1 if it has an
 *   idempotency key, 2 more if it has a limit of joins and 4 more if its first identity is its
 *   sender's id of it, number of limit uses, and for each of
 *   those, and for that of joins, the index of its key in two digits of base 64, and its weight.
 * Returns: time (µs), first order given (the others follow it one by one), the answers joined by
 *   newlines, then the totals of the limit keys. Answers: n (the offered lead owns all), o + lead +
 *   owners (e instead of o: its sender's id of it came before), p + record without fingerprint, x (key reused), l (limited), b (behind). Owners: '.'
 *   the lead itself, '-' nobody, '+' and a lead.
 */
export const reserveScript = script(`
local call, byte, sub = redis.call, string.byte, string.sub
${HERE}
local function whole(n) return string.format('%.0f', n) end

local held = call('HMGET', KEYS[1], 'open', 'clock', 'floor')
local clock = tonumber(held[2] or 0)
local seen = tonumber(ARGV[1])
local open = held[1] and clock >= seen and held[1] == here(KEYS[1])
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

local requests, recordCount, limitCount = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local shape, at = ARGV[5], 1
local arg, key = 6, 4

local last = clock
local records = {}
if recordCount > 0 then
  local values = call('MGET', unpack(KEYS, 4, 3 + recordCount))
  for i = 1, recordCount do
    local value = values[i]
    if value then
      local order = tonumber(sub(value, ${RECORD_ORDER.start + 1}, ${RECORD_ORDER.end}))
      if open or order <= clock then
        records[KEYS[3 + i]] = value
        if order > last then last = order end
      end
    end
  end
  key = key + recordCount
end
local recordAt = 4

local window = whole(math.floor(time[1] / 60))
local newWindow, counted = false, false
local names, max, counts = { 'window' }, {}, {}
for i = 1, limitCount do
  names[i + 1], max[i], counts[i] = ARGV[arg], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
  if counts[i] > 0 then counted = true end
  arg = arg + 3
end
if limitCount > 0 then
  local before = call('HMGET', KEYS[3], unpack(names))
  newWindow = before[1] ~= window
  if not newWindow then
    for i = 1, limitCount do counts[i] = counts[i] + (before[i + 1] or 0) end
  end
end

local owners, room, answers, first = {}, {}, {}, 0
local claims, claimCounts, newRecords = {}, {}, {}

for r = 1, requests do
  local identities, has, uses = byte(shape, at, at + 2)
  identities, has, uses = identities - 48, has - 48, uses - 48
  local idempotent, joins, external = has % 2 == 1, has % 4 >= 2, has >= 4
  local persons = external and 2 or 1
  at = at + 3
  local offered, fields = ARGV[arg], arg
  arg = arg + 1 + identities
  local answer, recordKey, fingerprint, submission, judged

  if idempotent then
    recordKey, fingerprint, submission, judged = KEYS[recordAt], ARGV[arg], ARGV[arg + 1], ARGV[arg + 2]
    recordAt, arg = recordAt + 1, arg + 3
    local record = records[recordKey]
    if record then
      if sub(record, 1, 22) == fingerprint then answer = 'p' .. sub(record, 23) else answer = 'x' end
    end
  end

  if uses > 0 then
    local used, weights = {}, {}
    for i = 1, uses do
      local high, low, weight = byte(shape, at, at + 2)
      used[i], weights[i] = (high - 48) * 64 + low - 47, weight - 48
      at = at + 3
    end
    if not answer then
      for i = 1, uses do
        if counts[used[i]] >= max[used[i]] then answer = 'l' end
      end
    end
    if answer ~= 'l' then
      for i = 1, uses do counts[used[i]] = counts[used[i]] + weights[i] end
      counted = true
    end
  end

  if joins then
    local high, low = byte(shape, at, at + 1)
    joins = (high - 48) * 64 + low - 47
    at = at + 3
  end

  if not answer and not open then answer = 'b' end

  if not answer then
    local lead
    local heard = identities
    if joins and counts[joins] >= max[joins] then heard = persons end
    for i = 1, heard do
      local field = ARGV[fields + i]
      local owner = owners[field]
      if owner == nil then
        owner = call('HGET', KEYS[key + i - 1], field)
        owners[field] = owner
      end
      if owner and not lead then lead = owner end
    end
    local again = external and owners[ARGV[fields + 1]]
    if joins and lead and not again then
      for i = persons, heard do
        if owners[ARGV[fields + i]] ~= lead then
          counts[joins] = counts[joins] + 1
          counted = true
          break
        end
      end
    end

    local isNew = not lead
    lead = lead or offered
    local taken, claimed = ${-IDENTITIES_AT_CREATION}, false
    local flags, mine = '', true
    for i = 1, heard do
      local field = ARGV[fields + i]
      local owner = owners[field]
      if not owner and i < persons then
        owner = lead
        owners[field] = lead
        local n = #claims
        claims[n + 1], claims[n + 2], claims[n + 3] = KEYS[key + i - 1], field, lead
      elseif not owner and not again then
        if not claimed and not isNew then
          taken = room[lead] or tonumber(call('HGET', KEYS[2], lead) or 0)
        end
        claimed = true
        if taken < ${MAX_IDENTITIES - IDENTITIES_AT_CREATION} then
          taken = taken + 1
          owner = lead
          owners[field] = lead
          local n = #claims
          claims[n + 1], claims[n + 2], claims[n + 3] = KEYS[key + i - 1], field, lead
        end
      end
      if owner == lead then
        flags = flags .. '.'
      else
        mine = false
        if owner then flags = flags .. '+' .. owner else flags = flags .. '-' end
      end
    end
    if heard < identities then
      mine = false
      flags = flags .. string.rep('~', identities - heard)
    end
    if claimed then
      if taken < 0 then taken = 0 end
      room[lead] = taken
      if taken > 0 then claimCounts[lead] = taken end
    end

    if first == 0 then
      if now > last then last = now else last = last + 1 end
      first = last
    else
      last = last + 1
    end
    if isNew and mine then answer = 'n' else answer = (again and 'e' or 'o') .. lead .. flags end

    if idempotent then
      local record = { fingerprint, submission, lead, whole(last), judged }
      local p = 1
      for i = 1, identities do
        local mark = sub(flags, p, p)
        local width = mark == '+' and 22 or 0
        record[5 + i] = ARGV[fields + i] .. sub(flags, p, p + width)
        p = p + 1 + width
      end
      record = table.concat(record)
      records[recordKey] = record
      newRecords[recordKey] = record
    end
  end

  key = key + identities
  answers[r] = answer
end

if not open then
  if held[1] and clock < seen then call('HDEL', KEYS[1], 'open') end
  if seen > tonumber(held[3] or 0) then call('HSET', KEYS[1], 'floor', ARGV[1]) end
end
-- First, as nothing else may have read this hash.
for lead, count in pairs(claimCounts) do call('HSET', KEYS[2], lead, count) end
for i = 1, #claims, 3 do call('HSET', claims[i], claims[i + 1], claims[i + 2]) end
for name, record in pairs(newRecords) do call('SET', name, record, 'EX', ${RECORD_SECONDS}) end
if open and last > clock then call('HSET', KEYS[1], 'clock', whole(last)) end
if counted then
  local pairsOf = { 'window', window }
  for i = 1, limitCount do
    local n = #pairsOf
    if counts[i] > 0 then pairsOf[n + 1], pairsOf[n + 2] = names[i + 1], counts[i] end
  end
  if newWindow then call('UNLINK', KEYS[3]) end
  call('HSET', KEYS[3], unpack(pairsOf))
  if newWindow then call('EXPIRE', KEYS[3], 120) end
end

return { now, first, table.concat(answers, '\\n'), unpack(counts) }
`);
