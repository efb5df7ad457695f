-- Returns the facts about the node; called first on every new connection and once a second. Writes
-- a new birth mark if there is one, if the old one is still the one that the caller has seen, and
-- if no more than three seconds have passed since (N1).
-- KEYS: the birth mark.
-- ARGV: a number that the answer repeats; to write the mark, also: the mark as it was seen
-- ('' = none), the new one before its first-seen time, that time in ms (+N = in N ms), the rest,
-- the time of the audit (us).
-- Returns: {number, version, run_id, role, mode, master_replid, master_replid2, connected replicas,
-- maxmemory, memory that counts for it, policy, evicted keys, now (us), birth mark}
local time = redis.call('TIME')
local birth = redis.call('GET', KEYS[1]) or ''

-- A plain search of each section costs a third of patterns over all of them.
local function field(section, name)
  local _, at = string.find(section, '\n' .. name .. ':', 1, true)
  return at and string.sub(section, at + 1, string.find(section, '\r', at, true) - 1)
end

local server, memory = redis.call('INFO', 'server'), redis.call('INFO', 'memory')
local replication = redis.call('INFO', 'replication')

if #ARGV > 1 and birth == ARGV[2]
  and math.abs(time[1] * 1000000 + time[2] - ARGV[6]) <= 3000000 then
  local seen = ARGV[4]
  if string.sub(seen, 1, 1) == '+' then
    seen = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(seen))
  end
  birth = ARGV[3] .. seen .. ARGV[5]
  redis.call('SET', KEYS[1], birth)
end

return {
  ARGV[1],
  field(server, 'valkey_version') or field(server, 'redis_version') or '', -- Valkey has both
  field(server, 'run_id') or '',
  field(replication, 'role') or '',
  field(server, 'redis_mode') or field(server, 'server_mode') or '', -- the latter is Valkey's
  field(replication, 'master_replid') or '',
  field(replication, 'master_replid2') or '',
  field(replication, 'connected_slaves') or '',
  field(memory, 'maxmemory') or '',
  string.format('%.0f', (field(memory, 'used_memory') or 0) - (field(memory, 'mem_not_counted_for_evict') or 0)),
  field(memory, 'maxmemory_policy') or '',
  field(redis.call('INFO', 'stats'), 'evicted_keys') or '',
  time[1] .. string.format('%06d', time[2]),
  birth,
}
