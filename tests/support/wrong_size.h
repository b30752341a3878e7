#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "veche/endpoint.h"

namespace veche::testing {

// What happens to one message: its last bytes are cut off, or bytes of zero are added.
struct WrongSize {
  NodeId node;                // that sends it
  std::uint64_t message = 0;  // the one with this number, of those with content that go to other nodes
  std::size_t cut = 0;        // bytes; all, if it has fewer
  std::size_t added = 0;
};

// An endpoint whose node sends one message with a wrong size. `sent` counts its messages; it
// outlives the endpoint.
class WrongSizeEndpoint : public Endpoint {
 public:
  WrongSizeEndpoint(std::unique_ptr<Endpoint> inner, WrongSize plan, std::atomic<std::uint64_t>& sent)
      : Endpoint(*inner), inner_(std::move(inner)), plan_(plan), sent_(sent) {}

  void send(NodeId to, Tag tag, Message message) override {
    const bool counts = id() == plan_.node && to != id() && message.size() > 0;
    if (counts && sent_++ == plan_.message) message = changed(message);
    inner_->send(to, tag, std::move(message));
  }
  void flush() override { inner_->flush(); }
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    return inner_->receive(from, tag, deadline);
  }
  Time now() const override { return inner_->now(); }
  bool alive(NodeId peer) const override { return inner_->alive(peer); }
  void spawn(std::function<void()> helper) override { inner_->spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return inner_->compute(what, work);
  }

 private:
  // Memory of exactly the size, so that a sanitizer sees what reads past the end.
  Message changed(const Message& message) const {
    const std::size_t kept = message.size() - std::min(plan_.cut, message.size());
    const std::size_t size = kept + plan_.added;
    Message other(std::shared_ptr<std::byte>(new std::byte[size](), std::default_delete<std::byte[]>()),
                  size);
    std::copy_n(message.bytes().begin(), kept, other.writable<std::byte>().begin());
    return other;
  }

  const std::unique_ptr<Endpoint> inner_;
  const WrongSize plan_;
  std::atomic<std::uint64_t>& sent_;
};

}  // namespace veche::testing
