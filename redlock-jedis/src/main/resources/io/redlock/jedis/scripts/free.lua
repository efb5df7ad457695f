-- Sets a name free for an operator: replaces the holder's value by a reserved one, and keeps its
-- time to live. So the holder can extend nothing more, and nobody is granted the name earlier.
-- Buries a counter that a node has reported, so that the holder cannot join where it has no key.
-- A key without an end is no lock of a Redlock client, and stays as it is.
-- KEYS: lock, fence.
-- ARGV: the last time at which this may be executed (us), the reserved value, T (0 = any), the
-- counter to bury (0 = none), retention (ms).
-- Returns: FREED until pttl holder c | NOT_HELD until c | HELD until pttl holder c
-- | CLOCK until now; until is the first argument, and a holder freed/... was set free before.
-- The lock is written last, so that a denied command leaves the holder as it is.
local call = redis.call
local untilMicros, freed, T, bury, retention = unpack(ARGV)
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > untilMicros + 0 then
  return 'CLOCK ' .. untilMicros .. ' ' .. time[1] .. string.format('%06d', time[2])
end

local holder = call('GET', KEYS[1])
local fence = call('GET', KEYS[2]) or '0'
local left = holder and call('PTTL', KEYS[1]) or 0
local isHeld = holder and string.sub(holder, 1, 6) ~= 'freed/'
local printed = holder and string.match(string.sub(holder, 1, 128), '^[!-~]+$') or '-'
if isHeld and (left < 0 or T ~= '0' and T ~= fence) then
  return 'HELD ' .. untilMicros .. ' ' .. string.format('%.0f', left) .. ' ' .. printed .. ' '
    .. fence
end

if bury + 0 > fence + 0 then
  local lead = math.max(0, math.ceil((bury - now) / 1000)) -- the counter outlives it
  local keeps = math.max(retention + lead, call('PTTL', KEYS[2]))
  call('SET', KEYS[2], bury, 'PX', keeps)
  fence = bury
end
if isHeld then
  call('SET', KEYS[1], freed, 'KEEPTTL')
end
return holder
  and 'FREED ' .. untilMicros .. ' ' .. string.format('%.0f', left) .. ' ' .. printed .. ' ' .. fence
  or 'NOT_HELD ' .. untilMicros .. ' ' .. fence
