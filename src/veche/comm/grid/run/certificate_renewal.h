#pragma once

#include <string>

#include "veche/comm/grid/run/agreement.h"

namespace veche::grid {

// Renews this member's certificate at half of its life. If its warrant is void because the signer
// was revoked, another member signs a new one. Links thread.
class CertificateRenewal {
 public:
  CertificateRenewal(MemberContext& own, Agreement& agreement)
      : own_(own), agreement_(agreement), certificate_(own.files.certificate()) {}

  // Starts.
  void watch();
  // Renews if needed.
  void renew();

 private:
  void take(const std::string& der);

  MemberContext& own_;
  Agreement& agreement_;
  std::string certificate_;
};

}  // namespace veche::grid
