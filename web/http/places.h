#pragma once

#include <map>
#include <string>

namespace veche::web {

// A limited number of places, of which one client address gets at most half.
class Places {
 public:
  explicit Places(int most) : most_(most) {}
  bool take(const std::string& client) {
    int& mine = by_client_[client];
    const bool room = taken_ < most_ && mine < (most_ + 1) / 2;
    if (room) {
      ++taken_;
      ++mine;
    } else if (mine == 0) {
      by_client_.erase(client);
    }
    return room;
  }

  void give(const std::string& client) {
    --taken_;
    const auto mine = by_client_.find(client);
    if (--mine->second == 0) by_client_.erase(mine);
  }

 private:
  const int most_;
  int taken_ = 0;
  std::map<std::string, int> by_client_;
};

// A place, returned by its destructor.
class Taken {
 public:
  Taken(Places& places, const std::string& client)
      : places_(places), client_(client), has_(places.take(client)) {}
  ~Taken() {
    if (has_) places_.give(client_);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  explicit operator bool() const { return has_; }
  void retry() { has_ = has_ || places_.take(client_); }

 private:
  Places& places_;
  const std::string client_;
  bool has_;
};

}  // namespace veche::web
