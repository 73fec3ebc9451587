-- Wins the office with the number that was drawn for it, if nobody drew a higher one since: the second half of a bid.
-- KEYS: record, counter. ARGV: tenure, version to displace or '', who drew, lease in ms, rest of the record.
local record = record_of(KEYS[1])

if record and record.tenure == ARGV[1] then
  -- A bid that is made again finds its record, and goes on with it.
  local value = composed(ARGV[1], above(record.write), record.token, record.asked, record.rest)
  call('SET', KEYS[1], value, 'PX', ARGV[4])
  return { 'ours', value }
end

if record and record.version ~= ARGV[2] then
  return seen(KEYS[1], record)
end

-- The last to draw is the only one who can win, so that numbers rise in the order of tenures.
local token, drawer = string.match(call('GET', KEYS[2]) or '', '^(%d+) (.*)$')
if drawer ~= ARGV[3] then
  return seen(KEYS[1], record)
end
local value = composed(ARGV[1], above(record and record.write or 0), tonumber(token), '-', ARGV[5])
call('SET', KEYS[1], value, 'PX', ARGV[4])
return { 'ours', value }
