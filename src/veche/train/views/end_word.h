#pragma once

#include "veche/message.h"
#include "veche/report.h"

namespace veche {

// How a run has ended, as members tell those who did not take part in its last step.
struct EndOfRun {
  Evaluation last;
  double epochs = 0;  // passes over the data
};

Message message_of_end(const EndOfRun& end, MessagePool& pool);
// Throws RunError where the message is damaged.
EndOfRun end_in(const Message& message);

}  // namespace veche
