"""What processes do when others fail or join: pure functions and wrappers around an order.

- `rollback`: after the failure of a site of `pairs`, survivors agree on its last event that counts
  and take back what depends on later ones (Schiper, Eggli, Sandoz, section 4.3).
- `joins`: new members of a separator take over the histories of the old ones (Rodrigues, Verissimo,
  section 4.4); `stable` keeps a history in a file that survives its writer.
"""
