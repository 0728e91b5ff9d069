/**
 * The limits of the library with their units. Everything that grows has a limit; limits of a single
 * component are defined beside it.
 */
export const limits = {
  /** Encoded bytes of one object; etcd's request limit (1.5 MiB) is of the same order. */
  objectBytesMax: 1_572_864,
  /** Write operations in one transaction, and checks in one transaction (`check`, `checkKind`). */
  transactionOperationsMax: 1_000,
  transactionChecksMax: 10_000,
  /** Characters of all objects in the answer to a transaction of another process. */
  transactionAnswerCharactersMax: 33_554_432,
  /**
   * UTF-16 code units of a name, of a namespace, and of a name that holds the key of another
   * object, such as that of a reconcile record.
   */
  nameCharactersMax: 511,
  keyNameCharactersMax: 2_048,
  /** Values of one object in one index, and UTF-16 code units of one value: two names and a slash fit. */
  indexValuesMax: 256,
  indexValueCharactersMax: 1_024,
  /** Index values whose last change is kept for checks, and their total characters. */
  recentValuesMax: 100_000,
  recentValuesCharactersMax: 16_777_216,
  /** Transactions in one disk batch: bounds the latency of the last one. */
  batchTransactionsMax: 500,
  batchBytesMax: 4_194_304,
  /** Encoded bytes of pending writes; above this, writes are refused. */
  pendingBytesMax: 268_435_456,
  /** Approximate bytes of transactions that wait until a long one is staged; above this, further ones are refused. */
  waitingBytesMax: 134_217_728,
  /** Events kept in memory for watchers, and their encoded bytes. Older events are read from the log. */
  watchRingEvents: 10_000,
  watchRingBytes: 33_554_432,
  /**
   * Events in one batch of a watcher, and encoded bytes beyond which it has no further revision: a watcher that is not
   * read keeps its batch in memory, with the answers that were made of it.
   */
  watchBatchEvents: 500,
  watchBatchBytes: 524_288,
  /** Revisions of history that are kept on disk, and the age up to which more are kept. */
  historyEvents: 100_000,
  historyAgeMs: 3_600_000,
  /** Encoded bytes of history: larger histories are compacted regardless of age. */
  historyBytesMax: 1_073_741_824,
  /** Records in one write of a compaction. Other writes wait for this write. */
  compactionStepRecords: 1_000,
  /** Share of the time that a compaction may work while the history is within its byte limit. */
  compactionTimeShare: 0.5,
  /**
   * Free bytes below which the store accepts only writes that free space, and below half of which (with a reserve: a
   * quarter of the reserve) only final deletions.
   */
  freeBytesFloor: 67_108_864,
  /** Bytes that kedged keeps allocated on its disk as a reserve for a full disk. */
  reserveBytes: 33_554_432,
  /** Objects in one list page: default of a page after the first one, and maximum. */
  pageSizeDefault: 500,
  pageSizeMax: 10_000,
  /**
   * Encoded bytes of a list answer in one gRPC message: most clients accept 4 MiB, and encoding must not block the
   * event loop.
   */
  listMessageBytes: 524_288,
  /** Unfinished paged lists, in total and per caller. */
  pagedListsMax: 512,
  pagedListsPerCallerMax: 64,
  /** Bytes that unfinished lists may keep in memory: replaced objects, and references to objects. */
  pagedListsBytesMax: 134_217_728,
  /** Maximum time between two pages. */
  pagedListIdleMs: 300_000,
  /** Bytes that the initial states of watches may keep in memory: replaced objects, and references to objects. */
  initialStatesBytesMax: 268_435_456,
  /** Violations in one error. If there are more, one further entry has their number. */
  violationsMax: 1_000,
  /** Bytes of a REST body or a gRPC message from a client. */
  requestBytesMax: 4_194_304,
  /** Nested messages, list items and map entries of a gRPC message from a client; values of a JSON body. */
  requestItemsMax: 65_536,
  /** Values in one precondition. */
  preconditionFieldsMax: 100,
  /** Characters of a lease's name and of a candidate's identity; Kubernetes' bound of names. */
  electionNameCharactersMax: 253,
  /**
   * Entries of a map of an object, such as its labels, and objects in a list, unless the field has
   * its own limit. All entries are processed in one turn of the event loop.
   */
  entriesMax: 1_000,
  /** Limits of a declared kind: fields, nesting depth of its objects, values of one enumeration. */
  declaredFieldsMax: 1_000,
  declaredDepthMax: 16,
  declaredEnumValuesMax: 256,
  /**
   * Characters of a label or field selector, and its requirements: each object of a list is matched
   * against all of them.
   */
  selectorCharactersMax: 65_536,
  selectorRequirementsMax: 100,
  /** Nesting of an object with free JSON: protobuf decoders stop at 100 messages, and a level takes two. */
  jsonValueDepthMax: 32,
  /** Nesting of a JSON body. */
  jsonDepthMax: 64,
} as const;
