-- The record of an office is one string:
--
--   tenure/1 <tenure> <write> <token> <asked> <lease> <since> <length of the name> <name><what is advertised>
--
-- Whatever else stands there belongs to another program. Its version is a digest of the value.
--
-- No script writes more than once. What a script writes in two commands stands in the append-only file as a transaction, and many servers
-- forget transactions when they restart and the default user has no rights. A script that fails has therefore written nothing, too.

-- Says which command failed: the server does not. Everything is called by it.
local function call(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) == 'table' and answer.err then
    error('TENURE<' .. command .. '|' .. answer.err .. '>')
  end
  return answer
end

local function parsed(value)
  local tenure, write, token, asked, rest = string.match(value, '^tenure/1 (%x+) (%d+) (%d+) ([-a]) (.*)$')
  if not tenure then
    return { value = value, version = 'foreign.' .. redis.sha1hex(value), token = 0, write = 0 }
  end
  return {
    value = value,
    version = tenure .. '.' .. write,
    tenure = tenure,
    write = tonumber(write),
    token = tonumber(token),
    asked = asked,
    rest = rest,
  }
end

local function record_of(key)
  local value = call('GET', key)
  return value and parsed(value)
end

-- The server's clock in microseconds; a double counts them exactly until the year 2255.
local function now()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- A number that the last one was below: also after a flush, while the clock does not go back (SAFETY 18).
local function above(last)
  return math.max(last + 1, now())
end

local function composed(tenure, write, token, asked, rest)
  return string.format('tenure/1 %s %.0f %.0f %s ', tenure, write, token, asked) .. rest
end

-- What is there, for whoever asked in vain. Another program's value may be of any size, and nobody needs all of it.
local function seen(key, record)
  if not record then
    return { 'vacant' }
  end
  return { 'held', record.version, string.sub(record.value, 1, 4096), call('PTTL', key) }
end

-- A server that has become a replica goes on to answer, and answers the past (SAFETY 16). To a write it says what it is: to one that changes nothing,
-- for a key that is there is not set, and one that is not there is not deleted. Whatever else speaks against writing does not matter here.
local function insist_on_primary(key, record)
  local answer
  if record then
    answer = redis.pcall('SET', key, '', 'NX', 'PX', 1)
  else
    answer = redis.pcall('DEL', key)
  end
  if type(answer) == 'table' and answer.err and string.find(answer.err, 'READONLY', 1, true) then
    error('TENURE<SET|' .. answer.err .. '>')
  end
end
