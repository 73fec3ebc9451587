-- KEYS: record, counter. ARGV: tenure, lease in ms, version to displace or '', rest of the record, life of the counter in ms, channel.
local record = record_of(KEYS[1])
local lease = tonumber(ARGV[2])

if record and record.tenure == ARGV[1] then
  -- A bid that is made again finds its record, and goes on with it.
  local value = composed(ARGV[1], above(record.write), record.token, record.asked, record.rest)
  redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
  return { 'ours', value }
end

if record and record.version ~= ARGV[3] then
  return seen(KEYS[1], record)
end

local counter = tonumber(redis.call('GET', KEYS[2]) or '0')
if not counter or counter >= 9007199254740991 then
  return redis.error_reply('TENURECOUNTER ' .. KEYS[2] .. ' is no number that can be counted on from')
end
local token = above(math.max(counter, record and record.token or 0))
local value = composed(ARGV[1], above(record and record.write or 0), token, '-', ARGV[4])
tell(ARGV[6], lease, value)
redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', ARGV[5])
redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
return { 'ours', value }
