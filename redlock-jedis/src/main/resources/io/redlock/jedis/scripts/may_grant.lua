-- Answers if the node does not vote for it, or the token does not fit its clock; else sets token, time, now.
-- N2, N3, N8
local its = (birth ~= '' or served ~= '') and (call('GET', mark) or '')
if its and not (string.find(its, birth, 1, true) == 1 and string.find(its, served, 1, true)) then
  return 'ABSTAIN ' .. T
end

local token = T + 0
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- G1
if token > now + skew and token > reported + 1 or token > now + 2 ^ 45
    or token < now - ttl * 1000 - skew then
  return 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
end
