return '+' .. (redis.call('GET', P .. 'clock') or '')
