-- Returns the facts about the node; called first on every new connection and once a second. Writes
-- a new birth mark if there is one, and if the old one is still the one that the caller has seen.
-- KEYS: the birth mark.
-- ARGV: a number that the answer repeats; to write the mark, also: the mark as it was seen
-- ('' = none), the new one before its first-seen time, that time in ms (+N = in N ms), the rest.
-- Returns: {number, version, run_id, role, mode, master_replid, connected replicas, maxmemory,
-- policy, evicted keys, now (us), birth mark}
local time = redis.call('TIME')
local birth = redis.call('GET', KEYS[1]) or ''

local info = '\n' .. redis.call('INFO', 'server') .. '\n' .. redis.call('INFO', 'replication')
  .. '\n' .. redis.call('INFO', 'memory') .. '\n' .. redis.call('INFO', 'stats')
local function field(name)
  return string.match(info, '\n' .. name .. ':([^\r\n]*)') or ''
end

if #ARGV > 1 and birth == ARGV[2] then
  local seen = ARGV[4]
  if string.sub(seen, 1, 1) == '+' then
    seen = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(seen))
  end
  birth = ARGV[3] .. seen .. ARGV[5]
  redis.call('SET', KEYS[1], birth)
end

return {
  ARGV[1],
  field('redis_version'),
  field('run_id'),
  field('role'),
  field('%a+_mode'), -- Valkey says server_mode
  field('master_replid'),
  field('connected_slaves'),
  field('maxmemory'),
  field('maxmemory_policy'),
  field('evicted_keys'),
  time[1] .. string.format('%06d', time[2]),
  birth,
}
