// What jupyter-builder is told beyond its own settings. By default it derives the ids of modules from absolute paths, so
// that the same sources would give other files in another folder, and nobody could check what is committed.
module.exports = { optimization: { moduleIds: "natural", chunkIds: "natural" } };
