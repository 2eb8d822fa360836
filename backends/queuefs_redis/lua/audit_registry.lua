-- ARGV: 1 to put right what can be. Returns all queues' numbers, how many there are first; then, of what does not agree,
-- kind, number and name in turn: 'unfound' if a queue is not where its name leads, 'stray' if a name leads nowhere,
-- 'kept' if something is kept of a queue that there is not; 'fixed' or 'stuck' follows each.
local mends = ARGV[1] == '1'
local numbers, found = redis.call('HKEYS', P .. 'queues'), {}

local function note_finding(kind, number, name, mend)
  for _, text in ipairs({kind, number, name, mends and mend() and 'fixed' or 'stuck'}) do
    found[#found + 1] = text
  end
end

local function place_of(number)
  return string.match(redis.call('HGET', P .. 'queues', number) or '', '^(%S+) %S+ %S+ %S+ %S+ (.*)$')
end

local function look_for_queues()
  for _, number in ipairs(numbers) do
    local parent, name = place_of(number)
    if not parent or redis.call('HGET', P .. 'children:' .. parent, name) ~= number then
      note_finding('unfound', number, name or '', function()
        return parent and (parent == '0' or known(parent))
          and redis.call('HSETNX', P .. 'children:' .. parent, name, number) == 1
      end)
    end
  end
end

local function look_for_names(parent)
  local children = P .. 'children:' .. parent
  for _, name in ipairs(redis.call('HKEYS', children)) do
    local there, called = place_of(redis.call('HGET', children, name))
    if there ~= parent or called ~= name then
      note_finding('stray', parent, name, function()
        return redis.call('HDEL', children, name)
      end)
    end
  end
end

local function look_for_kept(what, kept)
  for _, number in ipairs(kept) do
    if not known(number) then
      note_finding('kept', number, what, function()
        return redis.call(what == 'configs' and 'HDEL' or 'ZREM', P .. what, number)
      end)
    end
  end
end

if mends then
  go_on_when_full()
end
look_for_names('0')
for _, number in ipairs(numbers) do
  look_for_names(number)
end
look_for_queues()
look_for_kept('configs', redis.call('HKEYS', P .. 'configs'))
for _, what in ipairs({'leases', 'delays', 'lapses', 'windows', 'retention'}) do
  look_for_kept(what, redis.call('ZRANGE', P .. what, 0, -1))
end
local answered = {'+' .. #numbers}
for _, list in ipairs({numbers, found}) do
  for _, text in ipairs(list) do
    answered[#answered + 1] = text
  end
end
return answered
