#include "veche/comm/native.h"

namespace veche {

void native_all_reduce(Channel& channel, NativeCollectives& native, std::span<float> data) {
  const Time start = channel.endpoint.now();
  const auto result = native.all_reduce(channel.tag, data, start + channel.patience.limit());
  if (result.outcome != Received::Outcome::message) channel.give_up(result.missing, result.outcome);
  channel.patience.note(channel.endpoint.now() - start);
  channel.waited += result.waited;
  channel.sent.bytes += result.sent.bytes;
  channel.sent.messages += result.sent.messages;
}

}  // namespace veche
