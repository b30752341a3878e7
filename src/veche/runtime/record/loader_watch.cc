#include "veche/runtime/record/loader_watch.h"

#include <fmt/format.h>

namespace veche {
namespace {

constexpr Time kLeast{5};         // since the first batches are always late
constexpr double kTooMuch = 0.2;  // of the time

}  // namespace

LoaderWatch::LoaderWatch(Observer& next, Watched watched, std::function<void(const std::string&)> notice)
    : next_(next), watched_(std::move(watched)), notice_(std::move(notice)), start_(watched_.now()) {}

void LoaderWatch::on_progress(const Progress& progress) {
  next_.on_progress(progress);
  const Time passed = watched_.now() - start_;
  if (reported_ || passed < kLeast || watched_.loaders == 0) return;
  const double part =
      watched_.prefetcher.seconds_waited() / (passed.count() * static_cast<double>(watched_.loaders));
  if (part < kTooMuch) return;
  reported_ = true;
  notice_(fmt::format(
      "nodes wait for their batches {:.0f} % of the time: raise data.workers (now {}), or let images "
      "be decoded once and for all with `veche data pack --decode`",
      100 * part, watched_.prefetcher.workers()));
}

}  // namespace veche
