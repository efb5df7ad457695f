-- Ends the entry of one reader, and leaves a tombstone under its owner id, so that a later grant or
-- join of this owner is refused. The lock lives on as long as the longest entry of the others.
-- If nothing follows, also removes the caller's ticket. Wakes the first waiter in the queue of a
-- name that has become free, unless that is the caller, which goes on by itself.
-- KEYS: lock, queue, ends, readers (see shared_grant.lua).
-- ARGV: owner, T, the longest ttl requested (ms); then what release.lua gets from skew on.
-- Returns: RELEASED T | NOT_HELD T | CLOCK T now
local call = redis.call
local lock, queue, ends, readers = unpack(KEYS)
local owner, T, ttl, skew, reported, last, waiter = unpack(ARGV)

-- INSERT try.lua

local time = call('TIME')
local token, now = T + 0, time[1] * 1000000 + time[2]
local nowMillis = math.floor(now / 1000)
local before = string.format('(%.0f', nowMillis)
local shared = call('GET', lock) == 'shared/'
local entry = (call('ZSCORE', readers, owner) or 0) + 0
local reads = shared and entry >= nowMillis
local answer = (reads and 'RELEASED ' or 'NOT_HELD ') .. T
if not reads and (token > now + 2 ^ 45 or token > now + skew and token > reported + 1) then
  answer = 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
end
-- S6
if reads or -entry >= nowMillis then
  try('ZREM', readers, owner) -- makes room for the tombstone
end
-- Until the time of sending forbids every request of this owner.
local keeps = ttl + math.ceil(2 * skew / 1000)
if try('ZADD', readers, string.format('%.0f', -nowMillis - keeps), owner) then
  local lives = try('PTTL', readers)
  if not (lives and try('PEXPIRE', readers, math.max(keeps + 1000, lives))) then
    try('ZREM', readers, owner) -- it must not stay without an end
  end
  try('ZREMRANGEBYSCORE', readers, string.format('(%.0f', -nowMillis), before)
end

local freed = false
local longest = reads and try('ZRANGE', readers, -1, -1, 'WITHSCORES')
if longest then -- else the lock stays
  local left = (longest[2] or 0) - nowMillis
  if left >= 0 then
    try('PEXPIRE', lock, math.max(1, left))
  else
    freed = true
    if not try('DEL', lock) then
      try('PEXPIRE', lock, 0)
    end
  end
end

local nothingFollows = last == '1'
-- INSERT leave.lua
-- A failure in a queue must not make the release fail.
if (freed or nothingFollows) and redis.pcall('EXISTS', queue) ~= 0 then
  pcall(leave, lock, queue, ends)
end
return failure or answer
