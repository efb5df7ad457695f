-- Raises the counter to T; the floor of readers stays where it was.
if token > highest + 0 then
  -- S3
  keeps = math.max(retention + math.ceil((token - now) / 1000), keeps) -- the counter outlives it
  call('SET', fence, T, 'PX', keeps)
  call('SET', floor, T .. ' ' .. low, 'PX', keeps)
else
  call('SET', fence, highest, 'PX', keeps)
end
