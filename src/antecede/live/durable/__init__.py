"""Between a session and the application: what newcomers need, and what members with a log keep over
all their lives.

- `threshold`: what has been had before is dropped, what comes before its time is held back
- `company`: who is around, and what is known of each life
- `wishing`: what a newcomer needs before its first message, and how it comes by it
- `hosting`: what older members do for it
- `had`: what has been had of durable members, who may send it again
- `outbox`: how own messages reach everybody over all lives
- `remembered`: what a durable member knows of its former lives
- `journal`: its log, an SQLite file
- `keeping`: nothing is done before it is in the log
"""
