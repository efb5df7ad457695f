-- Locks every name for one owner, or none of them.
-- KEYS: lock and fence of each name in turn; then the birth mark.
-- ARGV: value, T, ttl (ms), retention (ms), skew (us), the highest counter that a node has reported
-- to the owner (0 = none), birth and served (see extend.lua). The value is owner@T: what the lock
-- becomes.
-- Returns: GRANT T c | HELD T pttl holder c | STALE T c | CLOCK T now | FAR T number | ABSTAIN T; the
-- number is that of the name whose counter is too far ahead of the clock to be followed. c is the
-- highest counter, with GRANT as it was before (P2; 0 = none).
-- Tokens stay strings, because Lua would print them as 1.7e+15. Adding 0 converts them to numbers,
-- at little cost, to compare them.
-- The locks are written last, so that a denied command leaves only counters behind.
local call = redis.call
local value, T, ttl, retention, skew, reported, birth, served = unpack(ARGV)
local last, mark = #KEYS - 1, KEYS[#KEYS]

-- INSERT may_grant.lua

local highest, highestCounter = '0', 0
local held, stale, pttl, other, far
for i = 1, last, 2 do
  local holder = call('GET', KEYS[i])
  local fence = call('GET', KEYS[i + 1])
  local counter = fence and fence + 0 or 0
  if counter > highestCounter then
    highest, highestCounter = fence, counter
    far = counter > now + 2 ^ 45 and (i + 1) / 2
  end
  -- G3, G4, G5
  -- INSERT own_key.lua
  if isOwn then
    held = true
    stale = stale or token < counter
  elseif holder then
    local left = call('PTTL', KEYS[i])
    if not pttl or left == -1 or (pttl ~= -1 and left > pttl) then
      pttl, other = left, holder
    end
  else
    stale = stale or token <= counter
  end
end
-- G6
if far then
  return 'FAR ' .. T .. ' ' .. far
end
-- G2
if pttl then
  return 'HELD ' .. T .. ' ' .. string.format('%.0f', pttl) .. ' '
    .. (string.match(string.sub(other, 1, 192), '^[!-~]+$') or '-') .. ' ' .. highest
end
if stale then
  return 'STALE ' .. T .. ' ' .. highest
end

local keeps = retention -- stays a string where it can, which saves the server a conversion
if token > now then
  keeps = retention + math.ceil((token - now) / 1000) -- the counter outlives it
end
for i = 1, last, 2 do
  local left = highestCounter > 0 and call('PTTL', KEYS[i + 1]) or 0
  call('SET', KEYS[i + 1], T, 'PX', left > keeps + 0 and left or keeps)
end
for i = 1, last, 2 do
  local lives = held and math.max(ttl, call('PTTL', KEYS[i])) or ttl
  call('SET', KEYS[i], value, 'PX', lives)
end
return 'GRANT ' .. T .. ' ' .. highest
