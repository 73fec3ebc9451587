-- Draws the number of a tenure, if there is a chance to win it: the first half of a bid.
-- KEYS: record, counter. ARGV: tenure, version to displace or '', who draws, life of the counter in ms.
local record = record_of(KEYS[1])
if record and (record.tenure == ARGV[1] or record.version ~= ARGV[2]) then
  return seen(KEYS[1], record)
end
local counter = tonumber(string.match(call('GET', KEYS[2]) or '0', '^%d+'))
if not counter or counter >= 9007199254740991 then
  return redis.error_reply('TENURECOUNTER ' .. KEYS[2] .. ' is no number that can be counted on from')
end
local token = above(math.max(counter, record and record.token or 0))
call('SET', KEYS[2], string.format('%.0f ', token) .. ARGV[3], 'PX', ARGV[4])
return { 'drawn' }
