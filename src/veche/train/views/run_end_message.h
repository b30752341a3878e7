#pragma once

#include <string>

#include "veche/message.h"
#include "veche/report.h"

namespace veche {

// How a run has ended: what members tell a member that did not take part in the last step.
struct EndOfRun {
  Evaluation last;
  double epochs = 0;  // passes over the data
};

Message message_of_end(const EndOfRun& end, MessagePool& pool);
// `from`: the sender, such as "node 3". Throws RunError that names it if the message is damaged.
EndOfRun end_in(const Message& message, const std::string& from);

}  // namespace veche
