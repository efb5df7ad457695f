-- Sets low: the token of a reader must be above it.
-- S3
local pair, low = call('GET', floor) or '', highest
if string.find(pair, highest .. ' ', 1, true) == 1 then
  low = string.sub(pair, #highest + 2)
end
