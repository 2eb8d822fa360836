-- Of the numbers that are given. They have 63 bits, and a double of Lua's has 53; so they stay texts.
local function padded(id)
  return string.rep('0', 19 - #id) .. id
end

local function is_given(counter, number)
  return padded(redis.call('GET', P .. counter) or '0') >= padded(number)
end

-- Lets no number up to *least* be given from now on.
local function raise(counter, least)
  if not is_given(counter, least) then
    redis.call('SET', P .. counter, string.match(least, '^0*(%d+)$'))
  end
end
