#pragma once

#include "veche/message.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// A tensor as a message: its type, shape and order in memory, then its numbers. Throws RunError for what does
// not fit a message, or is none of these.
Message to_message(const at::Tensor& tensor, MessagePool& pool);
// Reads the message's own memory, which it keeps; nobody may write to it.
at::Tensor to_tensor(const Message& message);

}  // namespace veche::torch_model
