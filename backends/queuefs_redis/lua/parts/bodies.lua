-- Of payloads. One of at most PIECE bytes is a field of `body`, of `remains` once it is dead, of `staged` before it is
-- published. A longer one is cut into pieces of that many bytes, fields by offset of a hash of its own; whatever becomes
-- of its message leaves them there, for to copy 256 MiB would hold the server for a second. With what Redis puts around
-- it a piece fits the 256 KiB that are allocated; one of 256 KiB would take 320.
local PIECE = 262080

local function is_big(size)
  return tonumber(size) > PIECE
end

local function pieces(queue, id)
  return key(queue, 'pieces:' .. id)
end

local function drop_pieces(queue, id)
  redis.call('SREM', key(queue, 'big'), id)
  redis.call('UNLINK', pieces(queue, id))
end

-- Drops a payload that is in *part*, of a message of *size* bytes ('' if that is not known).
local function drop_body(queue, id, part, size)
  redis.call('HDEL', key(queue, part), id)
  if size == '' or is_big(size) then
    drop_pieces(queue, id)
  end
end

-- Takes a payload along that is in *part* of one queue to *to_part* of another, or of the same.
local function move_body(queue, id, size, part, target, to_part)
  if not is_big(size) then
    local body = redis.call('HGET', key(queue, part), id)
    redis.call('HDEL', key(queue, part), id)
    if body then
      redis.call('HSET', key(target, to_part), id, body)
    end
  elseif queue ~= target then
    redis.call('SREM', key(queue, 'big'), id)
    redis.call('SADD', key(target, 'big'), id)
    if redis.call('EXISTS', pieces(queue, id)) == 1 then
      redis.call('RENAME', pieces(queue, id), pieces(target, id))
    end
  end
end

-- A payload in *part* as it is answered: a string, or a list of pieces. An empty list is one of more than *inline* bytes
-- ('' for any number), which is not read; false one of which something is missing.
local function body_of(queue, id, size, part, inline)
  if inline ~= '' and tonumber(size) > tonumber(inline) then
    return {}
  end
  if not is_big(size) then
    return redis.call('HGET', key(queue, part), id)
  end
  local found = {}
  for at = 0, size - 1, PIECE do
    local piece = redis.call('HGET', pieces(queue, id), digits(at))
    if not piece then
      return false
    end
    found[#found + 1] = piece
  end
  return found
end

-- Of payloads that are being written.

-- Adds bytes that lie within one piece.
local function add_to_piece(queue, id, offset, data)
  local inside = offset % PIECE
  local at, all = digits(offset - inside), pieces(queue, id)
  redis.call('HSET', all, at, (inside > 0 and redis.call('HGET', all, at) or '') .. data)
end

-- Adds ARGV from *first* on, which is cut where pieces end, to a staged message that has *offset* bytes of its *size*.
local function add_to_staged(queue, id, offset, size, first)
  local staged = key(queue, 'staged')
  if not is_big(size) then
    redis.call('HSET', staged, id, (offset > 0 and redis.call('HGET', staged, id) or '') .. ARGV[first])
    return
  end
  if not is_big(offset) then
    redis.call('SADD', key(queue, 'big'), id)
    if offset > 0 then
      redis.call('HSET', pieces(queue, id), '0', redis.call('HGET', staged, id) or '')
    end
    redis.call('HSET', staged, id, '')
  end
  for i = first, #ARGV do
    add_to_piece(queue, id, offset, ARGV[i])
    offset = offset + #ARGV[i]
  end
end
