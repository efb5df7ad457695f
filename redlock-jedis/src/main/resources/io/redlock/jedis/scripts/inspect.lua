-- Returns the state of one name. Writes nothing.
-- KEYS: lock, fence, queue (waiters by ticket), ends (waiters by the last ms of their tickets);
-- then the birth mark.
-- ARGV: T, a number that the answer repeats; birth ('' = no guard).
-- Returns: STATE T pttl holder c waiting waiter ... | UNMARKED T and the same, if the mark differs.
-- pttl is -2 if the name is free. Counts 1000 tickets and lists 20 waiters at most.
local lock, fence, queue, ends, mark = unpack(KEYS)
local T, birth = unpack(ARGV)

local function word(text)
  if #text <= 128 and string.find(text, '^[!-~]+$') then
    return text
  end
  return 'sha1:' .. redis.sha1hex(string.sub(text, 1, 4096))
end

-- X1, X2
local answer = 'STATE '
if birth ~= '' and string.find(redis.call('GET', mark) or '', birth, 1, true) ~= 1 then
  answer = 'UNMARKED '
end
local holder = redis.call('GET', lock)
local highest = redis.call('GET', fence) or '0'
local words = {
  answer .. T,
  string.format('%.0f', holder and redis.call('PTTL', lock) or -2),
  holder and word(holder) or '-',
  word(highest),
  '0',
}

if redis.call('PTTL', ends) ~= -2 then
  local time = redis.call('TIME')
  local nowMillis = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  words[5] = tostring(
    #redis.call('ZRANGEBYSCORE', ends, nowMillis, '+inf', 'LIMIT', '0', '1000'))
  for _, waiter in ipairs(redis.call('ZRANGE', queue, 0, 99)) do
    local untilMillis = redis.call('ZSCORE', ends, waiter)
    if #words < 25 and untilMillis and tonumber(untilMillis) >= tonumber(nowMillis) then
      words[#words + 1] = word(waiter)
    end
  end
end
return table.concat(words, ' ')
