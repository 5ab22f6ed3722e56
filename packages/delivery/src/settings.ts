import { Type } from 'typebox';
import { isNetwork } from './guard.ts';

/** `DELIVERY_ALLOW_NETWORKS`: the exceptions of the guard. */
export const allowNetworksSetting = () =>
  Type.Array(
    Type.Refine(Type.String(), isNetwork, () => 'must be networks such as 10.0.0.0/8'),
    {
      description:
        'networks that are not of the internet and may be called all the same, also by plain http, as CIDRs',
      default: [],
      examples: ['10.20.0.0/16'],
    },
  );
