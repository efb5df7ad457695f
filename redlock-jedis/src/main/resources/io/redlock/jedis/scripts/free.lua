-- Sets a name free for an operator: replaces the holder's value by a reserved one, and keeps its
-- time to live. So the holder can extend nothing more, and nobody is granted the name earlier.
-- Replaces only what the operator has seen, so that a late request does not hit a later holder.
-- Buries a counter that a node has reported, and forgets the floor of readers, so that no holder can
-- join where it has no key.
-- A key without an end is no lock of a Redlock client, and stays as it is.
-- KEYS: lock, fence, floor (see shared_grant.lua).
-- ARGV: a number that the answer repeats, the reserved value, the counter to bury (0 = none),
-- retention (ms), then the values that the operator has seen, as inspect.lua gives them.
-- Returns: FREED number pttl holder | HELD number pttl holder | NOT_HELD number | CLOCK number now; a
-- holder freed/... was set free before. CLOCK: the counter to bury is too far ahead of the clock.
-- The lock is written last, so that a denied command leaves the holder as it is.
local call = redis.call
local number, freed, bury, retention = unpack(ARGV)

-- INSERT word.lua

local holder = call('GET', KEYS[1])
local printed = holder and word(holder)
local left = holder and call('PTTL', KEYS[1])
local answer = holder and ' ' .. number .. ' ' .. string.format('%.0f', left) .. ' ' .. printed
local isHeld = holder and string.sub(holder, 1, 6) ~= 'freed/'
if isHeld then
  local wasSeen
  for i = 5, #ARGV do
    wasSeen = wasSeen or ARGV[i] == printed
  end
  -- F1, F2
  if left < 0 or not wasSeen then
    return 'HELD' .. answer
  end
end

local fence = call('GET', KEYS[2]) or '0'
-- F3
if bury + 0 > fence + 0 then
  local time = call('TIME')
  local now = time[1] * 1000000 + time[2]
  if bury + 0 > now + 2 ^ 45 then
    return 'CLOCK ' .. number .. ' ' .. time[1] .. string.format('%06d', time[2])
  end
  local aheadMillis = math.max(0, math.ceil((bury - now) / 1000)) -- the counter outlives it
  local keeps = math.max(retention + aheadMillis, call('PTTL', KEYS[2]))
  call('SET', KEYS[2], bury, 'PX', keeps)
-- F3
elseif string.find(call('GET', KEYS[3]) or '', fence .. ' ', 1, true) == 1 then
  call('DEL', KEYS[3]) -- the floor of this counter
end
if isHeld then
  -- F4
  call('SET', KEYS[1], freed, 'KEEPTTL')
end
return holder and 'FREED' .. answer or 'NOT_HELD ' .. number
