-- Deletes what one owner holds, at whatever token, and buries its own: raises the counter to it, so that a later
-- grant or join of this owner is refused. The counter is never lowered and never deleted.
-- If nothing follows, also removes the caller's ticket. Wakes the first waiter in the queue of each
-- name that has become free, unless that is the caller, which goes on by itself.
-- A token that no node can have granted is not buried, so that one client's clock cannot drive the
-- counters. A later grant may still be in time, so CLOCK does not confirm the release.
-- KEYS: lock, fence, queue and ends of each name in turn.
-- ARGV: value (owner@T; of a caller that only leaves the queue: the waiter), T, retention (ms), skew
-- (us), the highest counter that a node has reported to the owner (0 = none), '1' if nothing
-- follows, the caller as a waiter ('' = none).
-- Returns: RELEASED T | NOT_HELD T | CLOCK T now
local call = redis.call
local value, T = ARGV[1], ARGV[2]

local held = {}
local bury
for i = 1, #KEYS, 4 do
  local holder = call('GET', KEYS[i])
  -- R1
  -- INSERT own_key.lua
  if isOwn then
    held[#held + 1] = KEYS[i]
  end
  local fence = call('GET', KEYS[i + 1])
  -- R2, R3
  if fence ~= T and T + 0 > (fence or 0) + 0 then
    bury = bury or {}
    bury[#bury + 1] = KEYS[i + 1]
  end
end

-- INSERT try.lua

if held[1] and not try('DEL', unpack(held)) then
  for _, key in ipairs(held) do
    try('PEXPIRE', key, 0)
  end
end
local answer = (held[1] and 'RELEASED ' or 'NOT_HELD ') .. T

local time = bury and try('TIME')
if time then
  local token, now = T + 0, time[1] * 1000000 + time[2]
  if token <= now + 2 ^ 45 and (token <= now + ARGV[4] or token <= ARGV[5] + 1) then
    local aheadMillis = math.max(0, math.ceil((token - now) / 1000)) -- the counter outlives it
    for _, fence in ipairs(bury) do
      try('SET', fence, T, 'PX', math.max(ARGV[3] + aheadMillis, try('PTTL', fence) or 0))
    end
  elseif not held[1] then
    answer = 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
  end
end

local nothingFollows = ARGV[6] == '1'
local queued
if held[1] or nothingFollows then
  for i = 1, #KEYS, 4 do
    if redis.pcall('EXISTS', KEYS[i + 2]) ~= 0 then
      queued = queued or {}
      queued[#queued + 1] = i
    end
  end
end
if not queued then
  return failure or answer
end

local freed, waiter = held[1], ARGV[7]
-- INSERT leave.lua
-- A failure in a queue must not make the release fail.
for _, i in ipairs(queued) do
  pcall(leave, KEYS[i], KEYS[i + 2], KEYS[i + 3])
end
return failure or answer
