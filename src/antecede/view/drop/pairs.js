// Numbers for pairs of numbers: a hash table that is no heavier than its arrays.
export class Pairs {
  constructor(expected) {
    this.size = 0;
    this.allocate(2 ** Math.max(4, Math.ceil(Math.log2(2 * expected + 1))));
  }

  allocate(slots) {
    this.slots = new Int32Array(slots).fill(-1);
    const [first, second] = [this.first, this.second];
    this.first = new Int32Array(slots / 2);
    this.second = new Int32Array(slots / 2);
    if (!first) return;
    this.first.set(first);
    this.second.set(second);
    for (let id = 0; id < this.size; id++) this.slots[this.find(first[id], second[id])] = id;
  }

  // The slot of a pair, or the free one where it belongs.
  find(first, second) {
    const mask = this.slots.length - 1;
    let slot = (Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b)) >>> 0;
    slot = (slot ^ (slot >>> 15)) & mask;
    for (;;) {
      const id = this.slots[slot];
      if (id < 0 || (this.first[id] === first && this.second[id] === second)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  // Pairs are numbered from 0, in the order in which they come.
  id(first, second) {
    const slot = this.find(first, second);
    if (this.slots[slot] >= 0) return this.slots[slot];
    const id = this.size++;
    this.first[id] = first;
    this.second[id] = second;
    this.slots[slot] = id;
    if (this.size === this.first.length) this.allocate(2 * this.slots.length);
    return id;
  }
}
