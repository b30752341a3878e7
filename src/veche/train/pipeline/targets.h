#pragma once

#include "veche/batch.h"
#include "veche/message.h"
#include "veche/node_id.h"

namespace veche {

// Packs the targets of a batch, and their weights, for the last stage, which does not load samples.
Message pack_targets(const Batch& batch, MessagePool& pool);

// A batch without inputs, which borrows the message: the targets of `samples` samples of a task.
// Throws BadMessage, which names the sender `from`, if the size does not match.
Batch unpack_targets(const Message& message, std::size_t samples, Task task, const Shape& shape, NodeId from);

}  // namespace veche
