#pragma once

#include "veche/message.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// A tensor as a message: type, shape and memory layout, then its data. Throws RunError if the
// tensor does not fit a message, and DamagedActivation if a message does not contain a tensor.
Message to_message(const at::Tensor& tensor, MessagePool& pool);
// The tensor borrows and keeps the message's memory, which must not be written.
at::Tensor to_tensor(const Message& message);

}  // namespace veche::torch_model
