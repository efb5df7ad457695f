-- Returns the state of one name. Writes nothing.
-- KEYS: lock, fence, queue (waiters by ticket), ends (waiters by the last ms of their tickets),
-- readers (see shared_grant.lua); then the birth mark.
-- ARGV: T, a number that the answer repeats; birth ('' = no guard).
-- Returns: STATE T pttl holder c waiting waiter ... | UNMARKED T and the same, if the mark differs |
-- FAR T and the same, if the counter is too far ahead of the clock to be followed.
-- pttl is -2 if the name is free. Then, if it is shared: readers number owner pttl ..., the longest
-- first. Counts 1000 tickets and readers, and lists 20 of each, at most.
local lock, fence, queue, ends, readers, mark = unpack(KEYS)
local T, birth = unpack(ARGV)

-- INSERT word.lua

-- X1, X2
local answer = 'STATE '
if birth ~= '' and string.find(redis.call('GET', mark) or '', birth, 1, true) ~= 1 then
  answer = 'UNMARKED '
end
local holder = redis.call('GET', lock)
local highest = redis.call('GET', fence) or '0'
local time = redis.call('TIME')
-- G6
if (tonumber(highest) or 0) > time[1] * 1000000 + time[2] + 2 ^ 45 then
  answer = 'FAR '
end
local words = {
  answer .. T,
  string.format('%.0f', holder and redis.call('PTTL', lock) or -2),
  holder and word(holder) or '-',
  word(highest),
  '0',
}

local nowMillis = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if redis.call('PTTL', ends) ~= -2 then
  local last = string.format('%.0f', nowMillis + 20000) -- Q5
  words[5] = tostring(
    #redis.call('ZRANGEBYSCORE', ends, nowMillis, last, 'LIMIT', '0', '1000'))
  for _, waiter in ipairs(redis.call('ZRANGE', queue, 0, 99)) do
    local untilMillis = redis.call('ZSCORE', ends, waiter)
    local left = (untilMillis or 0) - nowMillis
    if #words < 25 and left >= 0 and left <= 20000 then
      words[#words + 1] = word(waiter)
    end
  end
end
if holder == 'shared/' then
  words[#words + 1] = 'readers'
  words[#words + 1] = tostring(
    #redis.call('ZRANGEBYSCORE', readers, nowMillis, '+inf', 'LIMIT', '0', '1000'))
  local longest = redis.call('ZRANGE', readers, -20, -1, 'WITHSCORES')
  for i = #longest - 1, 1, -2 do
    if longest[i + 1] - nowMillis >= 0 then
      words[#words + 1] = word(longest[i])
      words[#words + 1] = string.format('%.0f', longest[i + 1] - nowMillis)
    end
  end
end
return table.concat(words, ' ')
