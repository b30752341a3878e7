#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "veche/train/server.h"
#include "veche/train/strategy.h"

namespace veche {

// A node's side of servers that nobody waits for: as a worker it exchanges vectors with all of them; where it
// is a server itself, or stands between others and one, a thread of its own does that beside the training.
class ServerLink {
 public:
  // `make_rule` is asked on servers only, with the length of their part. The servers' parameters begin as the
  // learner's.
  ServerLink(StrategyContext& context, ServerTree tree, ServerPolicy policy,
             const std::function<std::unique_ptr<ServerRule>(std::size_t length)>& make_rule);
  ~ServerLink();
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // The worker's calls, by its one thread, in this order.
  void start();
  void join(std::span<float> pulled, std::uint64_t clock);  // may have to wait until it is not too far ahead
  // Pushes a part to every server and then takes what they answer. An empty vector: it was lost.
  void exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock);
  void leave();
  void finish(std::span<float> pulled);  // all have left

  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  Staleness staleness() const { return server_ ? server_->staleness() : Staleness{}; }
  std::vector<std::span<float>> state() {
    return server_ ? server_->state() : std::vector<std::span<float>>{};
  }

 private:
  Tag to_servers() const { return {context_.channel.tag.value << 8 | 1}; }
  Tag to_worker() const { return {context_.channel.tag.value << 8 | 2}; }
  bool is_between() const;
  Letter::Party self(std::size_t server, std::uint64_t clock) const {
    return {context_.me(), clock, versions_[server]};
  }

  void send(NodeId to, Tag tag, Message message);
  void send_up(Letter::Kind kind, std::size_t server, std::uint64_t clock, std::span<const float> numbers);
  void await_answers(std::span<float> pulled);

  void serve();  // the thread
  void handle(Letter letter);
  void pass_up(Letter letter);
  void pass_down(std::size_t server, std::span<const Letter::Party> parties, std::span<const float> numbers);

  StrategyContext& context_;
  const ServerTree tree_;
  const ServerPolicy policy_;
  std::vector<std::uint64_t> versions_;  // of each server's part that the worker has
  std::mutex mutex_;
  std::unique_ptr<Server> server_;  // of this node's part, if it has one; guarded by mutex_
  std::deque<Letter> backlog_;      // of the thread
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> sent_messages_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> failed_ = false;
  std::exception_ptr error_;  // of the thread, when failed_
  std::jthread thread_;
};

}  // namespace veche
