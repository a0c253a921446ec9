package centroids

// newBlock returns an empty block with room for rows codes of size bytes.
func newBlock(rows, size int) *block {
	return &block{
		ids:    make([]uint32, 0, rows),
		scale:  make([]float32, 0, rows),
		normSq: make([]float32, 0, rows),
		codes:  make([]byte, 0, rows*size),
	}
}

// push appends one row.
func (b *block) push(id uint32, code []byte, scale, normSq float32) {
	b.ids = append(b.ids, id)
	b.scale, b.normSq = append(b.scale, scale), append(b.normSq, normSq)
	b.codes = append(b.codes, code...)
}

// pushRow appends row i of src.
func (b *block) pushRow(src *block, i, size int) {
	b.push(src.ids[i], src.codes[i*size:(i+1)*size], src.scale[i], src.normSq[i])
}

// set overwrites row i with row j of src.
func (b *block) set(i int, src *block, j, size int) {
	b.ids[i], b.scale[i], b.normSq[i] = src.ids[j], src.scale[j], src.normSq[j]
	copy(b.codes[i*size:(i+1)*size], src.codes[j*size:])
}

// truncate drops the rows from n on.
func (b *block) truncate(n, size int) {
	b.ids, b.scale, b.normSq, b.codes = b.ids[:n], b.scale[:n], b.normSq[:n], b.codes[:n*size]
}

// clone returns a copy of b with room for rows rows, at least those of b.
func (b *block) clone(rows, size int) *block {
	c := newBlock(max(rows, len(b.ids)), size)
	c.ids, c.scale = append(c.ids, b.ids...), append(c.scale, b.scale...)
	c.normSq, c.codes = append(c.normSq, b.normSq...), append(c.codes, b.codes...)
	return c
}

// fitted returns b, or a copy of it when b has room to spare.
func (b *block) fitted(size int) *block {
	if len(b.ids) == cap(b.ids) {
		return b
	}
	return b.clone(len(b.ids), size)
}
