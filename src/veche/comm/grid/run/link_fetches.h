#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/grid.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {

inline std::string coded_piece_request(const std::string& name, std::uint64_t offset, std::uint32_t length) {
  return Writer().number(offset).number(length).text(name).take();
}

// Fetches pieces of state over the links. Belongs to one thread.
class LinkFetches : public Grid::Fetches {
 public:
  explicit LinkFetches(std::shared_ptr<Links> links) : links_(std::move(links)) {}

  void ask(std::uint64_t id, const MemberId& from, const std::string& name, std::uint64_t offset,
           std::uint32_t length) override {
    links_->ask(from, Service::piece, coded_piece_request(name, offset, length),
                [came = came_, id](std::optional<Message> answer) {
                  const MutexLock lock(came->mutex);
                  came->answers.push_back({id, std::move(answer)});
                  came->changed.notify_one();
                });
  }
  std::optional<Answer> next(Time limit) override {
    std::optional<Answer> first;
    MutexLock lock(came_->mutex);
    if (!came_->changed.wait_for(came_->mutex, limit,
                                 [this]() VECHE_REQUIRES(came_->mutex) { return !came_->answers.empty(); }))
      return first;
    first.emplace(came_->answers.front());
    came_->answers.pop_front();
    return first;
  }

 private:
  struct Came {
    Mutex mutex;
    ConditionVariable changed;
    std::deque<Answer> answers VECHE_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Links> links_;
  const std::shared_ptr<Came> came_ = std::make_shared<Came>();  // answers may arrive after this is destroyed
};

}  // namespace veche::grid
