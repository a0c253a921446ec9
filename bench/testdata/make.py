"""Makes the binary test files of package bench and bench/hdf5, beside this script.

Needs h5py, numpy and pyarrow; run it as `python3 make.py`. The values of every
file come from the formulas below, which the Go tests repeat: value(r, c) is
r + c / 16, exact in every float type, and number(r, c) is 7 r - c.
"""
import os

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
HDF5 = os.path.join(HERE, "..", "hdf5", "testdata")


def values(rows, cols, dtype="<f4"):
    r, c = np.mgrid[0:rows, 0:cols]
    return (r + c / 16).astype(dtype)


def numbers(rows, cols, dtype="<i4"):
    r, c = np.mgrid[0:rows, 0:cols]
    return (7 * r - c).astype(dtype)


def ann(f, rows=20, dim=6, queries=3, k=4, **kw):
    """The four data sets of an ann-benchmarks file."""
    f.attrs["distance"] = "euclidean"
    f.attrs["dimension"] = dim
    f.create_dataset("train", data=values(rows, dim), **kw)
    f.create_dataset("test", data=values(queries, dim), **kw)
    f.create_dataset("neighbors", data=numbers(queries, k), **kw)
    f.create_dataset("distances", data=values(queries, k), **kw)


def hdf5():
    os.makedirs(HDF5, exist_ok=True)

    def make(name, fill, **kw):
        with h5py.File(os.path.join(HDF5, name), "w", **kw) as f:
            fill(f)

    old, new = {"libver": "earliest"}, {"libver": ("v110", "v110")}
    make("plain.hdf5", ann, **old)
    make("plain-v108.hdf5", ann, libver=("v108", "v108"))
    make("plain-v110.hdf5", ann, **new)
    make("plain-latest.hdf5", ann, libver="latest")
    make("ordered.hdf5", ann, track_order=True)
    chunks = {"chunks": (3, 2)}
    zipped = {"compression": "gzip", "shuffle": True}
    make("chunked.hdf5", lambda f: ann(f, **chunks), **old)
    make("gzip.hdf5", lambda f: ann(f, **chunks, compression="gzip"), **old)
    make("gzip-shuffle.hdf5", lambda f: ann(f, **chunks, **zipped), **old)
    make("shuffle.hdf5", lambda f: ann(f, **chunks, shuffle=True), **old)
    # More than 64 chunks: the B-tree has two levels.
    make("deep.hdf5", lambda f: f.create_dataset(
        "train", data=values(150, 2), chunks=(1, 2), compression="gzip"), **old)
    make("resized.hdf5", resized, **old)
    # The chunk indexes of the 1.10 format.
    make("single.hdf5", lambda f: ann(f, queries=3, k=6, chunks=(3, 6)), **new)
    make("single-gzip.hdf5", lambda f: ann(f, rows=3, k=6, chunks=(3, 6), **zipped), **new)
    make("fixed.hdf5", lambda f: ann(f, **chunks), **new)
    make("fixed-gzip.hdf5", lambda f: ann(f, **chunks, **zipped), **new)
    make("single-gzip-latest.hdf5", lambda f: ann(f, rows=3, k=6, chunks=(3, 6), **zipped), libver="latest")
    make("fixed-gzip-latest.hdf5", lambda f: ann(f, **chunks, **zipped), libver="latest")
    # Paged: more than 1,024 entries.
    make("paged.hdf5", lambda f: f.create_dataset(
        "train", data=np.zeros((1100, 1), "u1") + np.arange(1100, dtype="u1")[:, None], chunks=(1, 1)), **new)
    make("implicit.hdf5", implicit, **new)
    for name, dtype in (("f2", "<f2"), ("f8", "<f8"), ("i1", "i1"), ("i2", "<i2"), ("i8", "<i8"), ("u1", "u1")):
        make(f"type-{name}.hdf5", lambda f, dtype=dtype: f.create_dataset(
            "train", data=(values if dtype[1] == "f" else numbers)(4, 3, dtype) if dtype != "u1"
            else np.arange(12, dtype="u1").reshape(4, 3)), **old)
    make("compact.hdf5", compact, **old)
    refused(make)


def resized(f):
    d = f.create_dataset("train", data=values(20, 6), chunks=(3, 2), maxshape=(40, 12))
    d.resize((11, 5))


def create(f, name, data, chunks=None, layout=None, alloc=None):
    """A data set by the low-level interface, for what h5py's own does not offer."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_obj_track_times(False)
    if chunks:
        plist.set_chunk(chunks)
    if layout is not None:
        plist.set_layout(layout)
    if alloc is not None:
        plist.set_alloc_time(alloc)
    space = h5py.h5s.create_simple(data.shape)
    d = h5py.h5d.create(f.id, name, h5py.h5t.py_create(data.dtype), space, plist)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, data)


def implicit(f):
    create(f, b"train", values(20, 6), chunks=(3, 2), alloc=h5py.h5d.ALLOC_TIME_EARLY)


def compact(f):
    create(f, b"train", values(4, 3), layout=h5py.h5d.COMPACT)


def refused(make):
    """Sound files that are not read, each for its own reason."""
    def one(name, **kw):
        kw.setdefault("data", values(4, 3))
        ver = kw.pop("libver", "earliest")
        make(f"refused-{name}.hdf5", lambda f: f.create_dataset("train", **kw), libver=ver)

    one("big-endian", data=values(4, 3, ">f4"))
    one("rank1", data=values(4, 3)[0])
    one("rank3", data=values(4, 3)[None])
    one("uint32", data=numbers(4, 3, "<u4"))
    one("text", data=[[b"a", b"b"]])
    one("lzf", chunks=(2, 3), compression="lzf")
    one("fletcher32", chunks=(2, 3), fletcher32=True)
    one("extensible", chunks=(2, 3), maxshape=(None, 3), libver=("v110", "v110"))
    one("btree2", chunks=(2, 3), maxshape=(None, None), libver=("v110", "v110"))
    make("refused-unwritten.hdf5", lambda f: f.create_dataset("train", (4, 3), "<f4"), libver="earliest")
    make("refused-hole.hdf5", lambda f: f.create_dataset(
        "train", (4, 3), "<f4", chunks=(2, 3)).write_direct(values(2, 3), dest_sel=np.s_[0:2]), libver="earliest")
    make("refused-group.hdf5", lambda f: f.create_group("train"), libver="earliest")
    make("refused-dense.hdf5", lambda f: [f.create_dataset(f"d{i}", data=values(2, 2)) for i in range(12)],
         libver=("v110", "v110"))


def npy():
    def save(name, a, version=(1, 0)):
        with open(os.path.join(HERE, name), "wb") as f:
            np.lib.format.write_array(f, a, version=version)

    for name in ("f2", "f4", "f8"):
        save(f"{name}.npy", values(5, 3, "<" + name))
    for name in ("i1", "i2", "i4", "i8"):
        save(f"{name}.npy", numbers(5, 3, "<" + name))
    save("u1.npy", np.arange(15, dtype="u1").reshape(5, 3))
    save("v2.npy", values(5, 3), (2, 0))
    save("v3.npy", values(5, 3), (3, 0))
    save("refused-fortran.npy", np.asfortranarray(values(5, 3)))
    save("refused-big-endian.npy", values(5, 3, ">f4"))
    save("refused-rank1.npy", values(5, 3)[0])
    save("refused-u4.npy", numbers(5, 3, "<u4"))


def parquet():
    v = values(10, 4)
    keys = [f"key-{i}" for i in range(10)]
    meta = [None if i == 3 else '{"row": %d}' % i for i in range(10)]

    def save(name, columns, **kw):
        pq.write_table(pa.table(columns), os.path.join(HERE, name), row_group_size=4, **kw)

    lists = pa.array(list(v), pa.list_(pa.float32()))
    fixed = pa.array(list(v), pa.list_(pa.float32(), 4))
    save("list.parquet", {"key": keys, "vector": lists, "metadata": meta}, compression="snappy")
    save("fixed.parquet", {"id": pa.array(range(10), pa.int64()), "text": keys, "emb": fixed},
         compression="zstd", data_page_version="2.0")
    save("double.parquet", {"features": pa.array(list(v), pa.list_(pa.float64()))}, compression="none")
    save("two.parquet", {"other": lists, "embedding": fixed})
    save("encoded.parquet", {"key": keys, "id": pa.array([7 * i - 9 for i in range(10)], pa.int64()),
                             "small": pa.array([3 - i for i in range(10)], pa.int32()),
                             "vector": lists, "metadata": meta},
         compression="gzip", use_dictionary=False, column_encoding={
             "key": "DELTA_LENGTH_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED", "small": "DELTA_BINARY_PACKED",
             "vector.list.element": "BYTE_STREAM_SPLIT", "metadata": "PLAIN"})
    save("refused-lz4.parquet", {"vector": lists}, compression="lz4")
    save("refused-delta-byte-array.parquet", {"vector": lists, "key": keys}, use_dictionary=False,
         column_encoding={"vector.list.element": "PLAIN", "key": "DELTA_BYTE_ARRAY"})
    ragged = [list(v[i][:3 if i == 7 else 4]) for i in range(10)]
    save("refused-ragged.parquet", {"vector": pa.array(ragged, pa.list_(pa.float32()))})
    nulls = [None if i == 7 else list(v[i]) for i in range(10)]
    save("refused-null.parquet", {"vector": pa.array(nulls, pa.list_(pa.float32()))})
    save("refused-none.parquet", {"vector": keys})
    save("refused-which.parquet", {"a": lists, "b": lists})


if __name__ == "__main__":
    hdf5()
    npy()
    parquet()
