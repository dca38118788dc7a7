"""Between a session and the application: what newcomers need, and what members with a log keep over
all their lives.

- `admission`: what has been had before is dropped, what comes before its time is held back until
  a newcomer has what it needs
- `company`: who is around, and what is known of each life
- `state_request`: state transfer, which is what a newcomer needs before its first message
- `hosting`: what older members do for it
- `deduplication`: what has been had of durable members, who may send it again
- `outbox`: how own messages reach everybody over all lives
- `remembered`: what a durable member knows of its former lives
- `journal`: its log, an SQLite file
- `write_ahead`: nothing is done before it is in the log (a write-ahead log)
"""
