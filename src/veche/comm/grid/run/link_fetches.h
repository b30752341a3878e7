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
                [inbox = inbox_, id](std::optional<Message> answer) {
                  const MutexLock lock(inbox->mutex);
                  inbox->answers.push_back({id, std::move(answer)});
                  inbox->changed.notify_one();
                });
  }
  std::optional<Answer> next(Time limit) override {
    std::optional<Answer> first;
    MutexLock lock(inbox_->mutex);
    if (!inbox_->changed.wait_for(inbox_->mutex, limit, [this]() VECHE_REQUIRES(inbox_->mutex) {
          return !inbox_->answers.empty();
        }))
      return first;
    first.emplace(inbox_->answers.front());
    inbox_->answers.pop_front();
    return first;
  }

 private:
  struct Inbox {
    Mutex mutex;
    ConditionVariable changed;
    std::deque<Answer> answers VECHE_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Links> links_;
  const std::shared_ptr<Inbox> inbox_ =
      std::make_shared<Inbox>();  // answers may arrive after this is destroyed
};

}  // namespace veche::grid
