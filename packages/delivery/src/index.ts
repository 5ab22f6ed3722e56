export { createGuard, type Guard, type UrlFault } from './guard.ts';
export { backoffMs, DISABLED_AFTER_MS, pauseMs, RateWindow } from './pacing.ts';
export { createSender, type Sender } from './sender.ts';
export { allowNetworksSetting, deliveryKeySetting } from './settings.ts';
export { messageId, newSecret, signedHeaders } from './signature.ts';
export { keptAnswer, verdictOn, type SendResult, type Verdict } from './verdict.ts';
